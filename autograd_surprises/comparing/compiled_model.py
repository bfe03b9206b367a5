"""The first training step of a script, eager and through torch.compile."""

import io
from contextlib import redirect_stderr
from functools import partial

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.comparing.compared import Compared
from autograd_surprises.comparing.first_backward import FirstBackward
from autograd_surprises.comparing.one_step import is_compiled
from autograd_surprises.comparing.two_steps import compare
from autograd_surprises.graph import reachable
from autograd_surprises.show.findings import first_line

INDUCTOR, WITHOUT_KERNELS = ALL_IN_ONE = "inductor", "aot_eager"


class CompiledRun(FirstBackward):
    """A context that compares the model's part of the first training step; then the script ends.

    The model is called with the same arguments once eagerly and once compiled, and the gradient
    that arrives at its result in the script's own backward is passed to both.

    found    the comparison, step a eager and step b compiled
    backend  of torch.compile: the given one, or inductor, or aot_eager where inductor does not work
    why      why that is not inductor, or ""

    >>> from contextlib import suppress
    >>> layer, compiled = torch.nn.Linear(2, 1), CompiledRun("eager")
    >>> with suppress(SystemExit), compiled:
    ...     layer(torch.ones(3, 2)).sum().backward()
    >>> compiled.trouble, compiled.found.same, layer.weight.grad
    ('', True, None)
    """

    def __init__(self, backend: str = ""):
        self.backend, self.why = backend, ""
        self.found: Compared | None = None

    def act(self, roots, weights, call, frame):
        if not self.backend:
            self.why = why_no_inductor()
            self.backend = WITHOUT_KERNELS if self.why else INDUCTOR
        gradients = call.gradients(roots, weights)
        module = getattr(call.module, "_orig_mod", call.module)  # of what the script compiled
        # Else inductor draws other random numbers.
        options = {"fallback_random": True} if self.backend == INDUCTOR else None
        compiled = torch.compile(module, backend=self.backend, options=options)
        nodes = reachable([call.again(compiled, gradients).grad_fn])
        if self.backend in ALL_IN_ONE and not any(is_compiled(BackwardStep(n)) for n in nodes):
            raise ValueError(f"torch.compile left all of {type(module).__name__} to eager code")
        both = [partial(call.again, each, gradients) for each in (module, compiled)]
        self.found = compare(*both, module)


def why_no_inductor() -> str:
    """Why torch.compile's own backend does not work here; "" if it does."""
    try:
        with redirect_stderr(io.StringIO()):  # where torch 2.6 says that it found no GPU
            torch.compile(lambda x: x + 1, backend=INDUCTOR)(torch.ones(2))
    except Exception as error:
        return first_line(error)
    return ""
