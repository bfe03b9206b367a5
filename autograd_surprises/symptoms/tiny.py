"""A tiny gradient: one step lost most of it, or each of many steps a part."""

from dataclasses import replace

import torch

from autograd_surprises.backward.noise import arriving_at, leaving, sent
from autograd_surprises.backward.steps import (
    GradientSize,
    numbers_of,
    size_of,
)
from autograd_surprises.facts.graph import Edge
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.cancelling import (
    BALANCED,
    cancelling_shift,
    is_cancelling_scale,
    is_rounding,
)
from autograd_surprises.symptoms.examination import TINY_SHARE, Examination
from autograd_surprises.symptoms.factors import multiplied, parameter_at
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.rounded_by_float16 import (
    MOSTLY_ROUNDED,
    enters_float16,
    is_rounded,
)
from autograd_surprises.symptoms.rule import Rule, Rulebook, always
from autograd_surprises.symptoms.zero_rules import (
    CANCEL,
    CANCEL_SHIFT,
    CONSTANT_SUM,
    NORMALISED,
    OWN_BACKWARD,
    SMALLER_INPUTS,
    TWO_VALUES,
    USE_A_SCALER,
)

ROUNDED_SUMS = {"cancel", "normalised", "constant-sum"}  # what may be exactly 0 elsewhere
DROP, VANISHED = 1e-3, 1e-9  # of what entered a step; of what entered the graph, in many steps
GROWS = 100  # times as large a tiny gradient has to be without the step that is blamed
NOISE_SIZE = 0.8  # the mean of |noise|

# The gradient is nearly 0: the first rule that fits the step where most of it was lost.
TINY = Rulebook([OWN_BACKWARD, CONSTANT_SUM])

TINY.add(
    "saturated/tiny",
    "{operation} is nearly flat there: its derivative is very small",
    SMALLER_INPUTS,
    "zero.saturated",
    on={
        "saturates Hardswish": always,
        "softmax": lambda step: step.lets_through is not True,
    },
)

TINY += [TWO_VALUES, NORMALISED]

TINY.add(
    "underflow/tiny",
    "the gradient is so small that its dtype rounds most of it to 0",
    USE_A_SCALER,
    "half",
    on={"ToCopy": always},
)

TINY += [CANCEL_SHIFT, CANCEL]

SMALL_FACTOR = TINY.add(
    "small-factor/proven",
    "the gradient is multiplied by a small factor in {operation}",
    "look at the size of what enters this operation: scale it, or the loss",
    on={"": lambda step: step.lets_through is False},
)

TINY.add(
    "small-factor/probably",
    "most of the gradient is lost in {operation}, probably because a factor is small there",
    "look at the size of what enters this operation: scale it, or the loss",
    on={"": always},
)

SHRINKS = Rule(
    "shrinks",
    "it shrinks a little in each of many steps: {steps}",
    "use ReLU-like activations, residual connections, normalisation, or another initialisation",
    "zero.saturated",
)

# There is nothing to repair.
STARTS_SMALL = Rule(
    "small-factor/parameter",
    "the gradient is multiplied by the parameter `{name}`, whose elements are at most "
    "{largest:.0e} in size. `{name}` gets a gradient itself",
    "do nothing if it starts small on purpose, as a layer scale does",
    alarm=False,
)

SMALL_INPUT = Rule(
    "small-factor/input",
    "the gradient is multiplied by the numbers that enter {operation} from the layers before it, "
    "and these are small",
    "do nothing if the weights start small on purpose; otherwise initialise them larger",
    alarm=False,
)


def tiny(
    exam: Examination, name: str, tensor: torch.Tensor, size: GradientSize, edge: Edge
) -> Finding | None:
    """The finding about a tiny gradient; None if nothing is wrong with it.

    What two tensors have in common is searched once.

    >>> x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    >>> explain((x * 1e-8 + y).sum(), {"x": x})["x"].rule
    'small-factor/proven'
    """
    also = (f"the sum of |g| is {size.l1:.1e}, and {exam.entered:.1e} entered at the loss",)
    if is_rounded(exam, tensor, size.nonzero):
        place = enters_float16(exam, edge)
        return MOSTLY_ROUNDED.finding().about(name, "tiny", place, also=also)
    ratios, kept = {}, {}
    for step, left, _ in exam.backward.main_way(*edge):
        if (step, left) in exam.tiny:
            return replace(exam.tiny[step, left], name=name, also=also)
        arrived = sum(a.l1 for a in step.arriving if a)
        if arrived > 0 and not traits_of(step.kind).joins:  # each of these passes on a part
            ratios[step], kept[step] = left.l1 / arrived, left
    worst = min(ratios, key=ratios.get, default=None)
    found, steps, passed = None, list(ratios), list(ratios)
    if worst is not None and ratios[worst] < DROP:
        below = steps[steps.index(worst) - 1].node if worst is not steps[0] else edge[0]
        found = _one_drop(exam, tensor, size, edge, worst, below, ratios[worst])
        node = f"shrinks to {ratios[worst]:.1e} of it in {worst.name}"
        passed = steps[: steps.index(worst) + 1]
    if found is None:
        if size.l1 >= VANISHED * exam.entered:
            return None
        worst = min(ratios, key=ratios.get)
        found, node, passed = _many_drops(ratios), "", steps
    places = at(worst)
    above = steps[steps.index(worst) + 1 :][:1]
    if found.cause == NORMALISED.cause and above and traits_of(above[0].kind).totals:
        places = (*at(above[0], "added up at"), *places)  # that is the line to edit
    status = "tiny"
    if found.cause in ROUNDED_SUMS and is_rounding(ratios[worst], exam.backward.like.get(edge)):
        status, node, also = "zero", f"{node}: that is rounding", ()
    found = found.about(name, status, places, node, also)
    exam.tiny.update(((step, kept[step]), found) for step in passed)
    return found


def _one_drop(exam, tensor, size, edge, step, below, ratio):
    """The finding, if it is this step because of which the gradient is tiny."""
    rule = cancelling_shift(exam, step, edge)
    if rule is not None:
        return rule.finding()
    if is_cancelling_scale(exam, step, edge):
        return BALANCED.finding()
    found = _small_parameter(exam, step, size.l1 / ratio, tensor)
    if found is not None:
        return found
    if _is_tiny_without(exam, step, edge, size):
        return None
    step.lets_through = _shrinks_less(exam, step, below, 30 * ratio)
    if step.lets_through is False and _computed_factor(step, below):
        return SMALL_INPUT.finding(step)
    found = exam.why(step, TINY)
    return None if found.cause == SMALL_FACTOR.cause and _may_cancel(step) else found


def _may_cancel(step):
    """May the drop be a sum whose parts cancel, instead of a small factor?"""
    left = min(size.total for size in step.leaving if size)
    adds_up = left < max(a.total for a in step.arriving if a)
    return step.lets_through is not False and adds_up


def _is_tiny_without(exam, step, edge, size):
    """Would it be tiny even if this step passed on as much as it gets?"""
    arrived = sent(exam.backward, leaving(step), edge)
    if arrived is None:
        return False
    average = max(a.l1 / a.total for a in step.arriving if a and a.total)
    return size_of(arrived).l1 * average < GROWS * size.l1


def _computed_factor(step, below):
    """Is the factor that meets this edge computed, as the input of a layer is?"""
    edges = multiplied(step)
    others = [edge[0] for edge in edges if edge[0] is not below]
    return len(others) < len(edges) and any(
        node is not None and parameter_at((node, 0)) is None for node in others
    )


def _many_drops(ratios):
    shares: dict[str, tuple[float, int]] = {}
    for step, ratio in ratios.items():
        product, count = shares.get(step.name, (1.0, 0))
        shares[step.name] = product * ratio, count + 1
    smallest = sorted(shares, key=lambda name: shares[name][0])[:2]
    parts = [f"{shares[n][1]} {n} together to {shares[n][0]:.0e}" for n in smallest]
    return SHRINKS.finding(steps=", ".join(parts))


def _shrinks_less(exam, step, below, ratio):
    """Would another gradient keep more than this share of its size in this step?"""
    end = next((edge for edge in step.edges if edge[0] is below), None)
    arrived = end and sent(exam.backward, arriving_at(step), end)
    if arrived is None:
        return None
    elements = sum(size.total for size in step.arriving if size)
    return size_of(arrived).l1 > ratio * elements * NOISE_SIZE


def _small_parameter(exam, step, without, tensor):
    """The finding, if a step multiplies by a parameter that starts small, as a layer scale does.

    without  the size of the gradient if it were not for this factor
    """
    if not traits_of(step.kind).multiplies or without < TINY_SHARE * exam.entered:
        return None
    for edge in multiplied(step):
        factor = parameter_at(edge)
        if factor is not None and factor is not tensor and exam.trains(factor):
            largest = float(numbers_of(factor).abs().max())
            if largest <= DROP:
                return STARTS_SMALL.finding(name=exam.name(factor), largest=largest)
    return None
