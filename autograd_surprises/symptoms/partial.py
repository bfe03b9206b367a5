"""A part of the gradient of a tensor is 0: which step made most of these zeros, if it is proven."""

from itertools import islice

import torch

from autograd_surprises.backward.noise import maker_of_zeros
from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.examination import NEAR
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.flat_rules import (
    DEAD_RELU,
    OUTSIDE_RANGE,
    SATURATED,
    STAIRCASE,
    STATIONARY,
)
from autograd_surprises.symptoms.rule import Rulebook, always
from autograd_surprises.symptoms.zero_rules import (
    DROPOUT,
    NOT_PICKED,
    OTHER_BRANCH,
    OVERWRITTEN,
    UNDERFLOW,
    ZERO_NUMBER,
    ZEROS_IN_A_FACTOR,
)

FEW = 0.9  # if more than that is not 0, the cause is searched only for a tensor asked for by name


def partial(gradient: Gradient) -> Finding | None:
    """The finding about a gradient of which a part is 0.

    >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
    >>> explain(x.relu().sum(), {"x": x})["x"].rule
    'dead-relu'
    """
    exam, size, node = gradient.exam, gradient.size, gradient.in_words
    if size.nonzero == size.total:
        return None
    found = Finding(gradient.name, "partial", node=node)
    few = not exam.asked and size.nonzero > FEW * size.total
    zeros = gradient.arrived.zeros
    if few or zeros is None:
        return found
    step = maker_of_zeros(exam.backward, zeros, gradient.edge, _suspects(gradient))
    if step is None or PARTIAL.first(step) is None:
        return found
    stops = f"; {step.stopped} stop in {step.name}" if step.stopped else ""
    return exam.why(step, PARTIAL).about(gradient.name, "partial", at(step), node + stops)


def _suspects(gradient):
    """The steps above a tensor that may have made zeros, the nearest first."""
    for step, size, _ in islice(gradient.above(), NEAR):
        if size.nonzero == size.total:
            return
        if step.stopped or _loses(step) or _has_empty_inputs(step):
            yield step


def _loses(step):
    """Is a larger share 0 of what leaves it than of what arrived?"""
    share = max((a.nonzero / a.total for a in step.arriving if a and a.total), default=0)
    return any(a.nonzero < share * a.total for a in step.leaving if a)


# The first rule that fits the step that made the zeros, if any does.
PARTIAL = Rulebook()


def _rows_not_looked_up(step: BackwardStep) -> str:
    rows, picked = step.saved["weight_sym_argsize_0"], step.saved["indices"]
    padding = step.saved.get("padding_idx", -1)
    used = picked.unique()
    used = used[used != padding]
    times = int((picked == padding).sum())
    withheld = f"row {padding} was, {times} times, but it is padding_idx and gets none; "
    return f"{withheld * (times > 0)}{rows - used.numel()} of {rows} rows"


PARTIAL.add(
    "not-looked-up",
    "{detail} of the embedding were not looked up in this batch, or belong to the padding",
    "do nothing: each batch trains the rows that it uses",
    on={"looks_up": always},
    detail=_rows_not_looked_up,
)


def _empty_inputs(step: BackwardStep) -> tuple[int, int]:
    """How many inputs of a layer are 0 in the whole batch, and of how many."""
    for name in ("mat1", "input", "self"):  # its other factor is the weight
        values = step.saved.get(name)
        if isinstance(values, torch.Tensor) and values.dim() >= 2:
            features = 1 if "Convolution" in step.kind else values.dim() - 1
            empty = ~(values != 0).transpose(0, features).flatten(1).any(1)
            if bool(empty.any()):
                return int(empty.sum()), empty.numel()
    return 0, 0


def _has_empty_inputs(step: BackwardStep) -> bool:
    """Does a layer get inputs that are 0 in the whole batch?"""
    traits = traits_of(step.kind)
    return traits.multiplies and traits.mixes and _empty_inputs(step)[0] > 0


PARTIAL.add(
    "zero-input",
    "{detail} that enter {operation} are 0 in the whole batch, so the weights that they are "
    "multiplied by get no gradient",
    "do nothing if that is so in the data; otherwise find where those zeros come from",
    on={"": _has_empty_inputs},
    detail=lambda step: "{} of {} inputs".format(*_empty_inputs(step)),
)


def _ignored_targets(step: BackwardStep) -> str:
    target, ignored = step.saved["target"], step.saved["ignore_index"]
    return f"{int((target == ignored).sum())} of {target.numel()} targets are ignored; "


PARTIAL.add(
    "not-picked/targets",
    "{detail}{operation} picks the score of the target class, and only that gets a gradient",
    "do nothing: it is how this loss works",
    on={"picks_targets": always},
    detail=_ignored_targets,
)

PARTIAL.add(
    "padding",
    "these elements lie beyond the length of their sequence",
    "do nothing: the padding is not part of the data",
    on={"PackPaddedSequence": always},
)

PARTIAL += [
    STAIRCASE, OUTSIDE_RANGE, DEAD_RELU, SATURATED, STATIONARY, DROPOUT, OTHER_BRANCH, UNDERFLOW,
    NOT_PICKED, OVERWRITTEN, ZERO_NUMBER, ZEROS_IN_A_FACTOR,
]  # fmt: skip
