"""A tiny gradient: one step lost most of it, or each of many steps a part."""

from dataclasses import replace
from functools import cached_property

import torch

from autograd_surprises.backward.noise import arriving_at, leaving
from autograd_surprises.backward.steps import BackwardStep, numbers_of, size_of
from autograd_surprises.facts.graph import Node
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.cancelling import (
    BALANCED,
    BEFORE_NORMALISATION,
    THIS_LOSS,
    cancelling_shift,
    is_cancelling_scale,
    is_rounding,
)
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.factors import multiplied, parameter_at
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.flat_rules import CONSTANT_SUM, OWN_BACKWARD, SMALLER_INPUTS
from autograd_surprises.symptoms.rule import Rule, Rulebook, always
from autograd_surprises.symptoms.zero_rules import (
    CANCEL,
    CANCEL_SHIFT,
    NORMALISED,
    TWO_VALUES,
    USE_A_SCALER,
)

TINY_SHARE = 1e-5  # of what entered at the loss: less is tiny
ROUNDED_SUMS = {"cancel", "normalised", "constant-sum"}  # what may be exactly 0 elsewhere
DROP, VANISHED = 1e-3, 1e-9  # of what entered a step; of what entered the graph, in many steps
GROWS = 100  # times as large a tiny gradient has to be without the step that is blamed
NOISE_SIZE = 0.8  # the mean of |noise|


def tiny(gradient: Gradient) -> Finding | None:
    """The finding about a tiny gradient; None if nothing is wrong with it.

    What two tensors have in common is searched once.

    >>> x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    >>> explain((x * 1e-8 + y).sum(), {"x": x})["x"].rule
    'small-factor/proven'
    """
    exam, name, size = gradient.exam, gradient.name, gradient.size
    if size.l1 >= TINY_SHARE * exam.entered:
        return None
    also = (f"the sum of |g| is {size.l1:.1e}, and {exam.entered:.1e} entered at the loss",)
    if gradient.is_rounded:
        place = gradient.enters_float16
        return MOSTLY_ROUNDED.finding().about(name, "tiny", place, also=also)
    ratios, kept = {}, {}
    for step, left, _ in gradient.above():
        if (step, left) in exam.tiny:
            return replace(exam.tiny[step, left], name=name, also=also)
        arrived = sum(a.l1 for a in step.arriving if a)
        if arrived > 0 and not traits_of(step.kind).joins:  # each of these passes on a part
            ratios[step], kept[step] = left.l1 / arrived, left
    worst = min(ratios, key=ratios.get, default=None)
    found, steps, passed = None, list(ratios), list(ratios)
    if worst is not None and ratios[worst] < DROP:
        below = steps[steps.index(worst) - 1].node if worst is not steps[0] else gradient.edge[0]
        found = Drop(gradient, worst, below, ratios[worst]).found
        node = f"shrinks to {ratios[worst]:.1e} of it in {worst.name}"
        passed = steps[: steps.index(worst) + 1]
    if found is None:
        if size.l1 >= VANISHED * exam.entered:
            return None
        found, node, passed = _many_drops(ratios), "", steps
    places = at(worst)
    above = steps[steps.index(worst) + 1 :][:1]
    if found.cause == NORMALISED.cause and above and traits_of(above[0].kind).totals:
        places = (*at(above[0], "added up at"), *places)  # that is the line to edit
    status, like = "tiny", exam.backward.like.get(gradient.edge)
    if found.cause in ROUNDED_SUMS and is_rounding(ratios[worst], like):
        status, node, also = "zero", f"{node}: that is rounding", ()
    found = found.about(name, status, places, node, also)
    exam.tiny.update(((step, kept[step]), found) for step in passed)
    return found


class Drop:
    """One step passes on a small share of what it gets: is the gradient tiny because of that?

    below  the node to which it passes that on
    ratio  the share
    """

    def __init__(self, gradient: Gradient, step: BackwardStep, below: Node, ratio: float):
        self.gradient, self.exam, self.step = gradient, gradient.exam, step
        self.below, self.ratio, self.operation = below, ratio, step.operation

    @property
    def found(self) -> Finding | None:
        rule = IN_ONE_STEP.first(self)
        if rule is not None:
            return rule.finding(self)
        found = None if self.is_tiny_without else self.exam.why(self.step, TINY)
        return None if found and found.cause == SMALL_FACTOR.cause and self.may_cancel else found

    @cached_property
    def cancels(self) -> str:
        shift = cancelling_shift(self.gradient, self.step)
        return shift or (THIS_LOSS if is_cancelling_scale(self.gradient, self.step) else "")

    @cached_property
    def parameter(self) -> torch.Tensor | None:
        """The parameter that the step multiplies by, if it starts small, as a layer scale does."""
        without = self.gradient.size.l1 / self.ratio
        if not traits_of(self.step.kind).multiplies or without < TINY_SHARE * self.exam.entered:
            return None
        for edge in multiplied(self.step):
            factor = parameter_at(edge)
            if factor is None or factor is self.gradient.tensor or not self.exam.trains(factor):
                continue
            if _largest(factor) <= DROP:
                return factor
        return None

    @property
    def name(self) -> str:
        return self.exam.name(self.parameter)

    @property
    def largest(self) -> float:
        return _largest(self.parameter)

    @cached_property
    def is_tiny_without(self) -> bool:
        """Would it be tiny even if this step passed on as much as it gets?"""
        arrived = self.gradient.if_sent(leaving(self.step))
        if arrived is None:
            return False
        average = max(a.l1 / a.total for a in self.step.arriving if a and a.total)
        return size_of(arrived).l1 * average < GROWS * self.gradient.size.l1

    @cached_property
    def lets_through(self) -> bool | None:
        """Would another gradient keep a larger share of its size in this step? None if unknown.

        The rules about a step ask for it, too.
        """
        step = self.step
        end = next((edge for edge in step.edges if edge[0] is self.below), None)
        arrived = end and self.gradient.if_sent(arriving_at(step), end)
        if arrived is not None:
            elements = sum(size.total for size in step.arriving if size)
            arrived = size_of(arrived).l1 > 30 * self.ratio * elements * NOISE_SIZE
        step.lets_through = arrived
        return arrived

    @property
    def has_a_computed_factor(self) -> bool:
        """Is the factor that meets this edge computed, as the input of a layer is?"""
        edges = multiplied(self.step)
        others = [edge[0] for edge in edges if edge[0] is not self.below]
        return len(others) < len(edges) and any(
            node is not None and parameter_at((node, 0)) is None for node in others
        )

    @property
    def may_cancel(self) -> bool:
        """May the drop be a sum whose parts cancel, instead of a small factor?"""
        left = min(size.total for size in self.step.leaving if size)
        adds_up = left < max(a.total for a in self.step.arriving if a)
        return self.lets_through is not False and adds_up


def _largest(factor):
    return float(numbers_of(factor).abs().max())


def _many_drops(ratios):
    shares: dict[str, tuple[float, int]] = {}
    for step, ratio in ratios.items():
        product, count = shares.get(step.name, (1.0, 0))
        shares[step.name] = product * ratio, count + 1
    smallest = sorted(shares, key=lambda name: shares[name][0])[:2]
    parts = [f"{shares[n][1]} {n} together to {shares[n][0]:.0e}" for n in smallest]
    return SHRINKS.finding(steps=", ".join(parts))


MOSTLY_ROUNDED = Rule(
    "underflow/float16-mostly",
    "float16 rounds most of it to 0 on the way: a loss 65536 times as large gives it more than "
    "twice as many elements that are not 0",
    USE_A_SCALER,
    "half",
)

# One step lost most of it, and there is nothing to repair.
IN_ONE_STEP = Rulebook([BEFORE_NORMALISATION, BALANCED])

IN_ONE_STEP.add(
    "small-factor/parameter",
    "the gradient is multiplied by the parameter `{name}`, whose elements are at most "
    "{largest:.0e} in size. `{name}` gets a gradient itself",
    "do nothing if it starts small on purpose, as a layer scale does",
    when=lambda drop: drop.parameter is not None,
    alarm=False,
)

IN_ONE_STEP.add(
    "small-factor/input",
    "the gradient is multiplied by the numbers that enter {operation} from the layers before it, "
    "and these are small",
    "do nothing if the weights start small on purpose; otherwise initialise them larger",
    when=lambda drop: (
        not drop.is_tiny_without and drop.lets_through is False and drop.has_a_computed_factor
    ),
    alarm=False,
)

# The gradient is nearly 0: the first rule that fits the step where most of it was lost.
TINY = Rulebook([OWN_BACKWARD, CONSTANT_SUM])

TINY.add(
    "saturated/tiny",
    "{operation} is nearly flat there: its derivative is very small",
    SMALLER_INPUTS,
    "zero.saturated",
    on={"saturates Hardswish": always, "softmax": lambda step: step.lets_through is not True},
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
