"""One run of a step, watched: gradients, values and operations; and where two runs part."""

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import SequenceMatcher
from itertools import zip_longest

import torch
from torch import nn

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.processes import why_not_alone
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.recording.forward_values import numbers_in
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.stack import tensors_in
from autograd_surprises.show.findings import Sentence, listed

Step = Callable[[], torch.Tensor]
TIMES = 8  # a difference is more than rounding beyond so many times the error of step a


class Run(Recorder):
    """A run of a step and of its backward, which leaves .grad alone.

    gradients  of the parameters by name, in the order in which they arrived; None: none arrived
    compiled   ran a part of it as torch.compile compiled it? Then its operations are not known
    drawn      the state of torch's random generator after the forward pass
    values     (name, line, numbers) of each floating-point result of a call of torch
    ran, keys  the operations in the order of backward; and (path of the module, name) of each

    >>> w = nn.Linear(2, 1, bias=False)
    >>> Run(lambda: w(torch.ones(3, 2)).sum(), "step_a", dict(w.named_parameters()), w).gradients
    {'weight': tensor([[3., 3.]])}
    """

    def __init__(self, step: Step, name: str, parameters: Mapping[str, nn.Parameter], model):
        super().__init__(eager="torch._dynamo" not in sys.modules)
        self.values: list[tuple[str, Where | None, torch.Tensor]] = []
        self.name_parts(model)
        with torch.inference_mode(False), torch.enable_grad(), self:
            loss = step()
        self.drawn = torch.get_rng_state()
        self.backward = _backward_of(loss, name, parameters)
        steps = self.backward.steps.values()
        self.compiled = self.ended or any(each.kind == "CompiledFunction" for each in steps)
        with torch._C.DisableTorchFunction(), self.backward.unnoticed():
            self.backward.run(loss, None, retain_graph=False)  # inductor may refuse to
        names = {id(p): name for name, p in parameters.items()}
        arrived = {names[key]: g for key, g in self.backward.kept.items() if key in names}
        self.gradients = arrived | dict.fromkeys(parameters.keys() - arrived.keys())
        self.ran, self.keys = sorted(self.backward.ran(), key=lambda each: each.order), []
        history = History(self)
        for each in self.ran:
            call = history.call_of(each.node)
            each.where = call.node_line if call else each.where
            self.keys.append((call.module if call else "", each.name))

    def _note_call(self, caller, name, role, args, kwargs, before, result):
        floats = [tensor for tensor in tensors_in(result) if tensor.is_floating_point()]
        self.values += [(name, where_from(caller), numbers_in(t)) for t in floats]
        super()._note_call(caller, name, role, args, kwargs, before, result)


def _backward_of(loss, name, parameters):
    """The backward of a loss; TypeError or ValueError if it is none, or reaches no parameter."""
    returned = f"{name} has to return the loss, a tensor with one number, and returned"
    if not isinstance(loss, torch.Tensor):
        raise TypeError(f"{returned} {'None' if loss is None else type(loss).__name__}")
    if loss.numel() != 1:
        raise ValueError(f"{returned} one of shape {tuple(loss.shape)}: return its mean() or sum()")
    if loss.grad_fn is None:
        raise ValueError(
            f"the loss of {name} has no grad_fn, so no gradient leaves it: it was computed under "
            "no_grad, detached, or made from tensors that need no gradient"
        )
    backward = Backward(loss.grad_fn, keep=True)
    if harm := why_not_alone(backward.steps):
        raise ValueError(f"compare would need a backward of its own, but {harm}")
    if any(step.is_reentrant_checkpoint for step in backward.steps.values()):
        raise ValueError(f"{name} has a checkpoint with use_reentrant=True, which hides parameters")
    if not {id(p) for p in parameters.values()} & {*map(id, backward.leaves)}:
        raise ValueError(
            f"the loss of {name} reaches no parameter of the model: does it use another model, or "
            "a copy? Both steps have to use the parameters of the model that compare gets"
        )
    return backward


@contextmanager
def put_back(model: nn.Module) -> Iterator[None]:
    """Put back parameters, buffers, .grad, attributes of modules, and random numbers.

    >>> norm = nn.BatchNorm1d(2)
    >>> with put_back(norm): drawn = norm(torch.randn(4, 2))
    >>> norm.running_mean.tolist(), torch.equal(norm(torch.randn(4, 2)), drawn)
    ([0.0, 0.0], True)
    """
    held = [d for m in model.modules() for d in (vars(m), m._parameters, m._buffers)]
    dicts = [(each, dict(each)) for each in held]
    kept = [(p, p.grad, p._backward_hooks is None) for p in model.parameters()]
    tensors = [*model.parameters(), *model.buffers(), *(g for _, g, _ in kept if g is not None)]
    numbers = [(tensor, tensor.detach().clone()) for tensor in tensors]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with ExitStack() as undo:
        undo.enter_context(torch.random.fork_rng(devices))
        undo.callback(random.setstate, random.getstate())
        if numpy_random := sys.modules.get("numpy.random"):
            undo.callback(numpy_random.set_state, numpy_random.get_state())
        try:
            yield
        finally:
            for each, before in dicts:
                if {k: id(v) for k, v in each.items()} != {k: id(v) for k, v in before.items()}:
                    each.clear()
                    each.update(before)
            for parameter, grad, without_hooks in kept:
                parameter.grad = grad
                if without_hooks:  # register_hook() leaves an empty dict
                    parameter._backward_hooks = None
            for tensor, before in numbers:
                tensor.data.copy_(before)  # .data: autograd need not know of it


@contextmanager
def moved(model: nn.Module) -> Iterator[None]:
    """Move each parameter by about a hundredth for this while, and so off kinks and ties."""
    with put_back(model):
        draw = torch.Generator().manual_seed(0)
        for p in model.parameters():
            noise = torch.randn(p.shape, generator=draw).to(p)
            p.data += 0.01 * p.data.abs().mean().clamp(min=0.01) * noise
        yield


def difference(a: torch.Tensor | None, b: torch.Tensor | None) -> torch.Tensor:
    """a - b in float64 (or complex128), 0 where both are the same inf or NaN; None counts as 0."""
    a, b = (t if t is None else t.to(torch.promote_types(t.dtype, torch.float64)) for t in (a, b))
    a = a if a is not None else torch.zeros(()) if b is None else torch.zeros_like(b)
    b = torch.zeros_like(a) if b is None else b
    return (a - b).masked_fill((a == b) | (a.isnan() & b.isnan()), 0)


def distance(a: torch.Tensor | None, b: torch.Tensor | None = None) -> torch.Tensor:
    """The norm of the difference and its largest element; inf if it is not finite.

    >>> distance(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 5.0]))
    tensor([5., 4.], dtype=torch.float64)
    """
    apart = difference(a, b).abs().flatten()
    both = torch.stack([apart.norm(), apart.max() if len(apart) else apart.sum()]).double().cpu()
    return both if both.isfinite().all() else torch.full_like(both, torch.inf)


def rounding(tensor: torch.Tensor | None, relative: float) -> torch.Tensor:
    """The size of errors that are such a share of a tensor; that of its last digit at least."""
    if tensor is None:
        return torch.zeros(2, dtype=torch.float64)
    digit = torch.finfo(tensor.dtype).eps / 2
    return distance(tensor.nan_to_num(0, 0, 0)) * max(relative, digit)


def beyond(apart: torch.Tensor, floor: torch.Tensor) -> bool:
    """Is it more than rounding, of which the floor is the size?"""
    return bool((apart > TIMES * floor).any())


def where_they_part(a: Run, b: Run, relative: float, name: str) -> tuple[str, list[Sentence]]:
    """Where two runs part on the way to the gradient of a parameter: a reason or "", and lines.

    relative  the usual relative rounding error of a gradient

    >>> w, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> steps = lambda: w(x).relu().sum(), lambda: w(x).sigmoid().sum()
    >>> a, b = (Run(step, "", dict(w.named_parameters()), w) for step in steps)
    >>> where_they_part(a, b, 1e-7, "weight")[0]
    'other operations: relu in a, sigmoid in b'
    """
    steps, left, have_partners = _first_operation(a, b, relative, name)
    rows = [(f"in {x}", str(ran[0].where)) for x, ran in zip("ab", steps, strict=True)
            if ran and ran[0].where]  # fmt: skip
    rows += _first_values(a.values, b.values, relative)
    if None not in left and left[0].shape == left[1].shape:
        rows.append(("gradient there", in_numbers(*left)))
    if have_partners:
        return "", rows
    names = (
        listed([s.own_name if s.is_users else s.operation for s in each], most=6) or "nothing"
        for each in steps
    )
    return f"other operations: {' in a, '.join(names)} in b", rows


def in_numbers(a: torch.Tensor | None, b: torch.Tensor | None) -> str:
    """Both numbers where they differ most.

    >>> in_numbers(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    '2 in a, 5 in b at [1]'
    """
    apart = difference(a, b).abs().nan_to_num(torch.inf)
    place = [int(i) for i in torch.unravel_index(apart.argmax(), apart.shape)]
    numbers = [t if t is None else t[tuple(place)] for t in (a, b)]
    numbers = [n if n is None else n.abs().item() if n.is_complex() else n.item() for n in numbers]
    if None in numbers:
        here, there = ("None" if n is None else few_digits(n) for n in numbers)
    else:
        here, there = distinct_digits(*numbers)
    return f"{here} in a, {there} in b" + (f" at {place}" if place else "")


def _differ(mine, theirs, relative):
    if mine is None or theirs is None:
        return mine is not theirs and bool((theirs if mine is None else mine).any())
    if mine.shape != theirs.shape:
        return True
    return beyond(distance(mine, theirs), rounding(mine, relative))


def _aligned(a, b):
    """Pairs of positions with equal elements, in order; each position at most once."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def _first_values(a, b, relative):
    """The first calls of the forward pass whose results differ, or what one alone calls before."""
    agreed = (-1, -1)
    for i, j in _aligned(*([name for name, _, _ in values] for values in (a, b))):
        if _differ(a[i][2], b[j][2], relative):
            both = (("a", *a[agreed[0] + 1]), ("b", *b[agreed[1] + 1]))
            return [(f"first value, in {x}", f"{name}: {at}") for x, name, at, _ in both if at]
        agreed = (i, j)
    return []


def _first_operation(a, b, relative, name):
    """(operations of both, gradients there, is it the same one?), in the order of backward.

    Another gradient arrives at it, or leaves it; or one run alone has these before it, or others.
    """
    agreed = -1, -1
    for i, j in _aligned(a.keys, b.keys):
        mine, theirs = a.ran[i], b.ran[j]
        alone = a.ran[agreed[0] + 1 : i], b.ran[agreed[1] + 1 : j]
        for pair in zip_longest(mine.gradients_in, theirs.gradients_in):
            if _differ(*pair, relative):
                return (alone, pair, False) if any(alone) else (([mine], [theirs]), pair, True)
        for pair in zip_longest(mine.gradients_out, theirs.gradients_out):
            # What has no gradient, or another shape, came from the operation that gets this one.
            comparable = None not in pair and pair[0].shape == pair[1].shape
            if comparable and _differ(*pair, relative):
                return ([mine], [theirs]), pair, True
        agreed = i, j
    alone = a.ran[agreed[0] + 1 :], b.ran[agreed[1] + 1 :]
    return alone, (a.gradients[name], b.gradients[name]), not any(alone)
