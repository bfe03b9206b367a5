"""The gradient of a tensor is 0 everywhere: which step made it 0, and why."""

from dataclasses import replace
from itertools import islice

import torch

from autograd_surprises.backward.noise import TRIES, arriving_at, leaving, sent
from autograd_surprises.backward.steps import BackwardStep, numbers_of
from autograd_surprises.facts.graph import Edge
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.cancelling import (
    BALANCED,
    BEFORE_NORMALISATION,
    cancelling_shift,
    others_get_more,
)
from autograd_surprises.symptoms.examination import NEAR, Examination
from autograd_surprises.symptoms.factors import added_at, parameter_at, zero_parameters
from autograd_surprises.symptoms.finding import Finding, at, in_and_out
from autograd_surprises.symptoms.rounded_by_float16 import ROUNDED, enters_float16, is_rounded
from autograd_surprises.symptoms.rule import Rule, Rulebook, always
from autograd_surprises.symptoms.zero_rules import NOT_PICKED, ZERO

# The gradient is multiplied by a parameter that starts at 0, and there is nothing to repair.

STARTS_AT_ZERO = Rule(
    "zero-factor/parameter",
    "the gradient is multiplied by 0, because the parameter `{name}` is 0 in every element. That "
    "one gets a gradient, so its first update ends this",
    "do nothing if it starts at 0 on purpose, as in LoRA and in the last layer of a residual "
    "block; otherwise initialise it",
    "zero.start",
    alarm=False,
)

STARTS_AT_ZERO_IN_FUNCTION = Rule(
    "zero-factor/in-function",
    "the backward of {whose} Function {own_name} returned it, probably because the parameter "
    "`{name}`, another of its inputs, is 0 in every element. That one gets a gradient",
    "do nothing if it starts at 0 on purpose; otherwise initialise it",
    "zero.start",
    alarm=False,
)

COMPARES = {"eq", "ne", "gt", "ge", "lt", "le"}
CASTS = {"float", "double", "half", "bfloat16", "to", "type", "type_as", "unsqueeze"}

EMPTY_MASK = Rule(
    "empty-selection/mask",
    "a mask selects no element of this batch, so this part of the loss is 0; other parts are not",
    "do nothing if there are such batches; otherwise look at the comparison that makes the mask",
    alarm=False,
)

# Its part of what a step joined is 0, since a step above picked only from the others.
PART_NOT_PICKED = Rulebook()

PART_NOT_PICKED.add(
    "not-picked/joined-this-time",
    "it was joined with others, and {operation} picked none of its elements in this step",
    "do nothing if that is intended",
    on={"picks_anew": always},
    alarm=False,
)

PART_NOT_PICKED.add(
    "not-picked/joined-in-library",
    "it was joined with others, and in a library {operation} picked only elements of the others",
    "do nothing if that is intended, as in a model that uses only a part of its last layer",
    on={"": lambda step: step.in_library},
    alarm=False,
)

PART_NOT_PICKED.add(
    "not-picked/joined",
    "it was joined with others, and {operation} picked only elements of the others",
    "pick its elements, too, or leave it out",
    on={"": always},
)

# No single step made it 0: contributions of healthy steps add up to 0.
ZERO_SUM = Rulebook()

ZERO_BY_A_HOOK = ZERO_SUM.add(
    "hook/zero",
    "a hook replaced the gradient by zeros",
    "look for register_hook() and module hooks on the way, and for clipping to 0",
    when=lambda steps: len(steps) == 1,
)

CANCELLING_PATHS = ZERO_SUM.add(
    "cancel/paths",
    "the contributions along {ways} paths to it cancel when they are added",
    "look for a constant or symmetric loss: a term that is added and subtracted again",
    when=lambda steps: len(steps) > 1,
)

ZERO_SUM.add(
    "zero-start",
    "the gradient that enters the graph is already zero",
    "check grad_outputs, and what the loss is multiplied by",
)


def zero(exam: Examination, name: str, tensor: torch.Tensor, edge: Edge) -> Finding:
    """The finding about a gradient that is 0.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x})["x"].rule
    'staircase'
    """
    origins = exam.backward.origins(*edge, "lost") or [()]
    steps = [origin for origin in origins if isinstance(origin, BackwardStep)]
    shift = cancelling_shift(exam, steps[0], edge) if steps else None
    if shift is not None:
        return shift.finding().about(name, "zero", at(steps[0]), _died_in(steps[0]))
    if is_rounded(exam, tensor, 0):
        return ROUNDED.finding().about(name, "zero", enters_float16(exam, edge))
    if not steps:
        return _zero_sum(exam, name, tensor, edge, origins[0])
    return _zero_steps(exam, name, tensor, edge, steps)


def cancelled(exam: Examination, name: str, tensor: torch.Tensor, edge: Edge) -> Finding | None:
    """The finding about a gradient that is 0 but for rounding errors, as a sum above it is.

    >>> x = torch.tensor([0.3, 0.7], requires_grad=True)
    >>> explain(torch.dot(x / x.sum(), torch.ones(2)) * 1e3, {"x": x})["x"].status
    'zero'
    """
    sums = exam.backward.cancelled
    if not sums or exam.backward.hooked:
        return None
    way = [each for _, _, each in exam.backward.main_way(*edge)]
    total = next((sums[each] for each in reversed(way) if each in sums), None)
    if total is None:
        return None
    size = exam.backward.grads[id(tensor)].size
    found = _zero_sum(exam, name, tensor, edge, total)
    return replace(found, node=f"the sum of |g| is {size.l1:.1e}: that is rounding")


def _died_in(step):
    return f"died in {in_and_out(step)}"


def _zero_sum(exam, name, tensor, edge, total):
    """No single step did it: it was zero from the start, a hook did it, or contributions cancel."""
    rule = ZERO_SUM.first(total)
    added = [(step, added_at(step, edge[0])) for step in total]
    if rule is CANCELLING_PATHS and all(
        k is not None and others_get_more(exam, step, k) for step, k in added
    ):
        shifts = {cancelling_shift(exam, step, edge) for step in total}
        rule = BEFORE_NORMALISATION if shifts == {BEFORE_NORMALISATION} else BALANCED
    places = at(total[0]) if total else ()
    if rule is ZERO_BY_A_HOOK:
        places = _hooks_at(exam, tensor)
    return rule.finding(ways=len(total)).about(name, "zero", places)


def _hooks_at(exam, tensor):
    """Where a hook was registered, preferably on this very tensor."""
    recorder = exam.history.recorder
    states = recorder.states(tensor)
    hooks = sorted(recorder.hooks, key=lambda hook: hook[0] not in states)
    return tuple(("a hook was registered at", where) for _, where in hooks[:1])


def _zero_steps(exam, name, tensor, edge, steps):
    """One step made it 0, or on several paths one each: what the first did is the finding.

    Of a choice between paths and what stops the one that was chosen, the latter.
    """
    step, *others = sorted(steps, key=lambda step: NOT_PICKED.fits(step))
    factor = _zero_input(exam, step, tensor)
    if factor is not None:
        found = STARTS_AT_ZERO_IN_FUNCTION.finding(step, name=exam.name(factor))
        return found.about(name, "zero", at(step), _died_in(step))
    places, also = at(step), []
    factors = [next((p for p in zero_parameters(s) if p is not tensor), None) for s in steps]
    if factors[0] is not None:  # the factor that is zero is a parameter
        places = (("set at", exam.history.written_at(factors[0])), *at(step))
        parameter = exam.name(factors[0])
        if all(factor is not None and exam.trains(factor) for factor in factors):
            found = STARTS_AT_ZERO.finding(name=parameter)
            return found.about(name, "zero", places, _died_in(step))
        itself = any(parameter_at(edge) is factors[0] for edge in step.edges)
        is_it = f"is `{parameter}`" if itself else f"is 0 because `{parameter}` is"
        also = [f"that factor {is_it}"]
    picking = _picks_others(exam, step, edge) if traits_of(step.kind).joins else None
    if picking is not None:
        return PART_NOT_PICKED.first(picking).finding(picking).about(name, "zero", at(picking))
    compared = None if others else _mask_made_at(exam, step)
    if compared is not None and any(map(exam.trains, exam.leaves)):
        places = (*at(step), ("the mask was made at", compared.where))
        return EMPTY_MASK.finding().about(name, "zero", places, _died_in(step))
    if step.lets_through is None:
        dead = [e for e, a in zip(step.edges, step.leaving, strict=True) if a and not a.nonzero]
        tried = [sent(exam.backward, arriving_at(step), end) for end in dead]
        known = all(arrived is not None for arrived in tried)
        step.lets_through = any(bool(arrived.any()) for arrived in tried) if known else None
    for other in others:
        line = f", at {other.where}" if other.where else ""
        also.append(f"on another path: {exam.why(other, ZERO).sentence}{line}")
    return exam.why(step, ZERO).about(name, "zero", places, _died_in(step), also)


def _mask_made_at(exam, step):
    """The comparison that made the factor of 0 by which a step multiplies a part of the loss."""
    call = exam.history.call_of(step.node)
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
            return maker
    return None


def _zero_input(exam, step, tensor):
    """A parameter that enters a Function written in Python, is 0 everywhere, and is trained."""
    entering = [parameter_at(edge) for edge in step.edges] if step.is_users else ()
    zeros = [p for p in entering if p is not None and p is not tensor and exam.trains(p)]
    return next((p for p in zeros if not bool(numbers_of(p).any())), None)


def _picks_others(exam, joined, edge):
    """The step above a cat that picks parts, and none of the one whose gradient is 0."""
    above = islice(exam.backward.main_way(joined.node, 0), NEAR)
    picking = [step for step, _, _ in above if NOT_PICKED.fits(step)]
    for step in picking[:TRIES]:
        arrived = sent(exam.backward, arriving_at(step), edge)
        left = sent(exam.backward, leaving(step), edge)
        if arrived is not None and not arrived.any() and left is not None and left.any():
            return step
    return None
