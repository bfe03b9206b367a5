"""The gradient of a tensor is 0 everywhere: which step made it 0, and why."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import torch

from autograd_surprises.backward.noise import TRIES, arriving_at, leaving
from autograd_surprises.backward.steps import BackwardStep, numbers_of
from autograd_surprises.facts.operations import is_one_of, traits_of
from autograd_surprises.recording.forward_calls import ForwardCall
from autograd_surprises.symptoms.cancelling import (
    ANY_LOSS,
    BALANCED,
    BEFORE_NORMALISATION,
    THIS_LOSS,
    cancelling_shift,
    others_get_more,
)
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.examination import NEAR
from autograd_surprises.symptoms.factors import added_at, parameter_at, zero_parameters
from autograd_surprises.symptoms.finding import Finding, at, in_and_out
from autograd_surprises.symptoms.rule import Rulebook
from autograd_surprises.symptoms.zero_rules import NOT_PICKED, ROUNDED, ZERO

COMPARES = {"eq", "ne", "gt", "ge", "lt", "le"}
CASTS = {"float", "double", "half", "bfloat16", "to", "type", "type_as", "unsqueeze"}


def zero(gradient: Gradient) -> Finding | None:
    """The finding about a gradient that is 0.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x})["x"].rule
    'staircase'
    """
    if gradient.size.nonzero:
        return None
    origins = gradient.origins("lost")
    steps = [origin for origin in origins if isinstance(origin, BackwardStep)]
    facts = LostInSteps(gradient, steps) if steps else ZeroSum(gradient, origins[0])
    rule = (IN_STEPS if steps else ZERO_SUM).first(facts)
    if rule is not None:
        return gradient.finding(rule, facts, "zero")
    places, node = facts.shown
    facts.note_what_gets_through()
    found = gradient.exam.why(facts.step, ZERO)
    return found.about(gradient.name, "zero", places, node, facts.also)


def cancelled(gradient: Gradient) -> Finding | None:
    """The finding about a gradient that is 0 but for rounding errors, as a sum above it is.

    >>> x = torch.tensor([0.3, 0.7], requires_grad=True)
    >>> explain(torch.dot(x / x.sum(), torch.ones(2)) * 1e3, {"x": x})["x"].status
    'zero'
    """
    walked = gradient.exam.backward
    if not walked.cancelled or walked.hooked:
        return None
    way = [each for _, _, each in gradient.above()]
    total = next((walked.cancelled[e] for e in reversed(way) if e in walked.cancelled), None)
    if total is None:
        return None
    facts = ZeroSum(gradient, total)
    found = gradient.finding(ZERO_SUM.first(facts), facts, "zero")
    return replace(found, node=f"the sum of |g| is {gradient.size.l1:.1e}: that is rounding")


class LostInSteps:
    """One step made the gradient 0, or on several paths one each.

    step    the one that the finding is about: a step that only chose a path comes last
    others  the steps on other paths
    """

    def __init__(self, gradient: Gradient, steps: Sequence[BackwardStep]):
        self.gradient, self.exam, self._steps = gradient, gradient.exam, steps
        self.step, *self.others = sorted(steps, key=lambda step: NOT_PICKED.fits(step))

    @cached_property
    def cancels(self) -> str:
        return cancelling_shift(self.gradient, self._steps[0])

    @cached_property
    def zero_input(self) -> torch.Tensor | None:
        """A parameter that enters a Function written in Python, is 0 everywhere, and is trained."""
        entering = map(parameter_at, self.step.edges) if self.step.is_users else ()
        zeros = [p for p in entering if p is not None and self._is_another(p)]
        zeros = (p for p in zeros if self.exam.trains(p) and not bool(numbers_of(p).any()))
        return next(zeros, None)

    @cached_property
    def zero_factors(self) -> list[torch.Tensor | None]:
        """For each of the steps: the parameter because of which its factor is 0, if one is."""
        return [next(filter(self._is_another, zero_parameters(s)), None) for s in self._steps]

    def _is_another(self, parameter):
        return parameter is not self.gradient.tensor

    @property
    def starts_at_zero(self) -> bool:
        return all(factor is not None and self.exam.trains(factor) for factor in self.zero_factors)

    @property
    def name(self) -> str:
        """The name of the parameter that is 0."""
        zeros = self.zero_factors[0] if self.zero_input is None else self.zero_input
        return self.exam.name(zeros)

    @cached_property
    def picking(self) -> BackwardStep | None:
        """The step above a cat that picks parts, and none of the one whose gradient is 0."""
        if not traits_of(self.step.kind).joins:
            return None
        above = islice(self.exam.backward.main_way(self.step.node, 0), NEAR)
        picking = [step for step, _, _ in above if NOT_PICKED.fits(step)]
        for step in picking[:TRIES]:
            arrived = self.gradient.if_sent(arriving_at(step))
            left = self.gradient.if_sent(leaving(step))
            if arrived is not None and not arrived.any() and left is not None and left.any():
                return step
        return None

    # What the sentences of the rules name.
    whose = property(lambda self: self.step.whose)
    own_name = property(lambda self: self.step.own_name)
    operation = property(lambda self: self.picking.operation)

    @cached_property
    def mask(self) -> ForwardCall | None:
        """The comparison that made the factor of 0 by which the step multiplies a part of the loss.

        None where nothing else is trained, or several steps are to blame.
        """
        exam, step = self.exam, self.step
        call = None if self.others else exam.history.call_of(step.node)
        if call is None or ZERO.first(step).id != "zero-factor/tensor":
            return None
        above = [traits_of(after.kind) for after, _, _ in exam.backward.main_way(step.node, 0)]
        if not all(t.totals or t.scales or t.only_adds or t.arranges for t in above):
            return None
        for state in call.inputs:
            maker = exam.history.makers.get(state)
            while maker is not None and maker.operation in CASTS:
                maker = exam.history.makers.get(maker.inputs[0])
            if maker is not None and maker.operation in COMPARES:
                return maker if any(map(exam.trains, exam.leaves)) else None
        return None

    @property
    def shown(self) -> tuple:
        if self.cancels:
            return at(self._steps[0]), f"died in {in_and_out(self._steps[0])}"
        factor = self.zero_factors[0] if self.zero_input is None else None
        set_at = ("set at", self.exam.history.written_at(factor)) if factor is not None else None
        places = at(self.step) if set_at is None else (set_at, *at(self.step))
        return places, self.died

    @property
    def died(self) -> str:
        return f"died in {in_and_out(self.step)}"

    @property
    def also(self) -> list[str]:
        """Which parameter is 0, and what the steps on other paths did."""
        factor, also = self.zero_factors[0], []
        if factor is not None:
            itself = any(parameter_at(edge) is factor for edge in self.step.edges)
            name = self.exam.name(factor)
            also.append(f"that factor {f'is `{name}`' if itself else f'is 0 because `{name}` is'}")
        for other in self.others:
            line = f", at {other.where}" if other.where else ""
            also.append(f"on another path: {self.exam.why(other, ZERO).sentence}{line}")
        return also

    def note_what_gets_through(self) -> None:
        """Would another gradient get through the step? The rules about a step ask for it."""
        step = self.step
        if step.lets_through is None:
            dead = [e for e, a in zip(step.edges, step.leaving, strict=True) if a and not a.nonzero]
            tried = [self.gradient.if_sent(arriving_at(step), end) for end in dead]
            known = all(arrived is not None for arrived in tried)
            step.lets_through = any(bool(arrived.any()) for arrived in tried) if known else None


class ZeroSum:
    """No single step made it 0: it was 0 from the start, or a hook did it, or contributions cancel.

    total  the steps whose contributions were added
    """

    def __init__(self, gradient: Gradient, total: Sequence[BackwardStep]):
        self.gradient, self.total, self.ways = gradient, total, len(total)

    @cached_property
    def cancels(self) -> str:
        """Do they cancel because the same is added on each path? Else something else is wrong."""
        gradient = self.gradient
        added = [(step, added_at(step, gradient.edge[0])) for step in self.total]
        if len(added) < 2 or not all(
            k is not None and others_get_more(gradient.exam, step, k) for step, k in added
        ):
            return ""
        shifts = {cancelling_shift(gradient, step) for step in self.total}
        return ANY_LOSS if shifts == {ANY_LOSS} else THIS_LOSS

    @property
    def shown(self) -> tuple:
        return at(self.total[0]) if self.total else (), ""

    @property
    def hook(self) -> tuple:
        """Where a hook was registered on this tensor, or on what was computed from it."""
        history = self.gradient.exam.history
        states = {*history.recorder.states(self.gradient.tensor)}
        hooks = sorted(history.recorder.hooks, key=lambda hook: hook[0] not in states)
        on_the_way = [where for state, where in hooks if states & history.values_behind([state])]
        return tuple(("a hook was registered at", where) for where in on_the_way[:1]), ""


# One step made it 0, or on several paths one each. If none of these fits, ZERO says what it did.
IN_STEPS = Rulebook([BEFORE_NORMALISATION, BALANCED, ROUNDED])

IN_STEPS.add(
    "zero-factor/in-function",
    "the backward of {whose} Function {own_name} returned this gradient, probably because the "
    "parameter `{name}`, another of its inputs, is 0 in every element. That one gets a gradient",
    "do nothing if it starts at 0 on purpose; otherwise initialise it",
    "zero.start",
    when=lambda lost: lost.zero_input is not None,
    alarm=False,
)

IN_STEPS.add(
    "zero-factor/parameter",
    "the gradient is multiplied by 0, because the parameter `{name}` is 0 in every element. That "
    "one gets a gradient, so its first update ends this",
    "do nothing if it starts at 0 on purpose, as in LoRA and in the last layer of a residual "
    "block; otherwise initialise it",
    "zero.start",
    when=lambda lost: lost.starts_at_zero,
    alarm=False,
)

# Its part of what a step joined is 0, since a step above picked only from the others.

IN_STEPS.add(
    "not-picked/joined-this-time",
    "it was joined with others, and {operation} picked none of its elements in this step",
    "do nothing if that is intended",
    when=lambda lost: lost.picking is not None and is_one_of(lost.picking.kind, "picks_anew"),
    shown=lambda lost: (at(lost.picking), ""),
    alarm=False,
)

IN_STEPS.add(
    "not-picked/joined-in-library",
    "it was joined with others, and in a library {operation} picked only elements of the others",
    "do nothing if that is intended, as in a model that uses only a part of its last layer",
    when=lambda lost: lost.picking is not None and lost.picking.in_library,
    shown=lambda lost: (at(lost.picking), ""),
    alarm=False,
)

IN_STEPS.add(
    "not-picked/joined",
    "it was joined with others, and {operation} picked only elements of the others",
    "pick its elements as well, or leave it out",
    when=lambda lost: lost.picking is not None,
    shown=lambda lost: (at(lost.picking), ""),
)

IN_STEPS.add(
    "empty-selection/mask",
    "a mask selects no element of this batch, so this part of the loss is 0; other parts are not",
    "do nothing if there are such batches; otherwise look at the comparison that makes the mask",
    when=lambda lost: lost.mask is not None,
    shown=lambda lost: ((*at(lost.step), ("the mask was made at", lost.mask.where)), lost.died),
    alarm=False,
)

# No single step made it 0: contributions of healthy steps add up to 0.
ZERO_SUM = Rulebook([ROUNDED, BEFORE_NORMALISATION, BALANCED])

ZERO_SUM.add(
    "hook/zero",
    "a hook replaced the gradient by zeros",
    "look for register_hook() and module hooks on the way, and for clipping to 0",
    when=lambda facts: facts.ways == 1,
    shown=lambda facts: facts.hook,
)

ZERO_SUM.add(
    "cancel/paths",
    "the contributions along {ways} paths to it cancel when they are added",
    "look for a constant or symmetric loss: a term that is added and subtracted again",
    when=lambda facts: facts.ways > 1,
)

ZERO_SUM.add(
    "zero-start",
    "the gradient that enters the graph is already zero",
    "check grad_outputs, and what the loss is multiplied by",
)
