"""compare(): whose gradients two steps compute differently, where, and why."""

from __future__ import annotations

import torch
from torch import nn

from autograd_surprises.comparing.compared import (
    SAME,
    UNDECIDED,
    Compared,
    largest_of,
    reassurance,
)
from autograd_surprises.comparing.distance import together
from autograd_surprises.comparing.measured import Runs
from autograd_surprises.comparing.one_step import Step
from autograd_surprises.comparing.parting import against_float64, losses, where_they_part
from autograd_surprises.several_processes import is_spread
from autograd_surprises.show.findings import listed


def compare(step_a: Step, step_b: Step, model: nn.Module) -> Compared:
    """Say whether two steps compute the same gradients, and if not, where they part and why.

    Each step is a function without arguments that runs a forward pass of `model` and returns the
    loss. compare runs the backward itself, several times, also in float64: that is how it knows
    how large rounding errors are. A difference counts if it is more than 8 times the error of
    step_a. Parameters, buffers, .grad, attributes of modules and the random generators of torch,
    Python and NumPy are put back before and after each run, so both steps draw the same numbers.
    A step must take the same batch each time. What it keeps elsewhere is that of the last run,
    perhaps in float64.

    Raises TypeError or ValueError for what cannot be compared.

    >>> model, x = nn.Linear(2, 1), torch.ones(3, 2)
    >>> compare(lambda: model(x).sum(), lambda: 3 * model(x).mean(), model).same
    True
    """
    parameters = _parameters_of(model)
    for name, step in (("step_a", step_a), ("step_b", step_b)):
        if not callable(step):
            raise TypeError(
                f"{name} has to be a function that returns the loss, such as lambda: "
                f"loss_fn(model(x), y), got {type(step).__name__}"
            )
    runs = Runs(model, parameters, (step_a, step_b))
    found = runs.differences()
    beyond = [each for each in found if each.differs]
    undecided = _why_undecided(runs, found, beyond)
    if undecided:
        return Compared(UNDECIDED, undecided, found)
    if beyond:
        return where_they_part(runs, found, beyond)
    said = [("losses", f"they differ: {losses(runs)}")] if runs.losses_differ else []
    return Compared(SAME, reassurance(found), found, losses=said, also=_notes(runs, found))


def _parameters_of(model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"model has to be an nn.Module, got {type(model).__name__}")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("the model has no parameter that requires a gradient")
    for name, parameter in parameters.items():
        if nn.parameter.is_lazy(parameter):
            raise ValueError(f"{name} is not initialised yet: run the model once before compare")
        if is_spread(parameter) or parameter.is_meta:
            raise ValueError(f"the numbers of {name} are not in this process")
    return parameters


def _why_undecided(runs, found, beyond):
    """Why it cannot be told whether the gradients are the same, or ""."""
    a, b = runs.once
    if runs.unsteady:
        return (
            f"{runs.unsteady} gives other gradients each time: it takes another batch, keeps "
            "something from run to run, or draws random numbers that compare cannot put back. "
            "Let both steps use one batch"
        )
    if beyond and (a.compiled or b.compiled) and not all(map(torch.equal, a.drawn, b.drawn)):
        return (
            "the compiled step draws other random numbers, for dropout for example, so the "
            "gradients differ in any case. Compare in eval mode, or with torch.compile(..., "
            "options={'fallback_random': True})"
        )
    if beyond and runs.exact[0] is None:
        one = largest_of(beyond)
        return (
            f"the largest relative difference is {one.share(one.apart)} ({one.name}); how much of "
            f"it is rounding is not known, because {runs.trouble}"
        )
    errors, whole = together(each.floor for each in found), together(each.size for each in found)
    if not beyond and errors > whole / 10 and any(each.apart.norm for each in found):
        return (
            "rounding errors hide what differs: they are more than a tenth of the gradients of "
            "step a"
        )
    return ""


def _notes(runs, found):
    a, b = (run.gradients for run in runs.once)
    rows = []
    if largest_of(found).nearer:
        rows += against_float64(largest_of(found))
    noise = [each.name for each in found if each.is_rounding and each.apart.norm]
    if noise:
        text = f"the gradient of {listed(noise, most=3)} is 0 but for rounding errors"
        rows.append(("rounding", text))
    missing = [name for name in a if (a[name] is None) != (b[name] is None)]
    if missing:
        names = listed(missing, most=3)
        rows.append(("None", f"the gradient of {names} is None in one step, and 0 in the other"))
    return rows
