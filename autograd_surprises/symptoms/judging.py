"""What happened to the gradient of each tensor: the searches in the graph and in the recording."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import islice

import torch
from torch.utils.checkpoint import checkpoint

from autograd_surprises.backward.noise import (
    TRIES,
    arriving_at,
    leaving,
    lets_through,
    maker_of_zeros,
    sent,
)
from autograd_surprises.backward.steps import (
    BackwardStep,
    GradientSize,
    GradientSum,
    memory,
    numbers_of,
    size_of,
)
from autograd_surprises.graph import Node, edge_of
from autograd_surprises.recording.places import owner_of
from autograd_surprises.recording.setup_lines import stored_at
from autograd_surprises.symptoms.detached import STRAIGHT_THROUGH, detached_when_made
from autograd_surprises.symptoms.examination import Case
from autograd_surprises.symptoms.factors import added_at, multiplied, parameter_at, zero_parameters
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.losses import LOSS, LOSS_IS_LEAF, LossFacts
from autograd_surprises.symptoms.missing import (
    HIDDEN,
    LEFT_OUT,
    NOT_A_LEAF,
    RETURNED_NONE,
    UNREACHED,
    UNTRACKED,
    TensorFacts,
)
from autograd_surprises.symptoms.nonfinite import (
    MASKED_TOO_LATE,
    NOT_FINITE,
    NOT_FINITE_SUM,
    UNKNOWN_ORIGIN,
)
from autograd_surprises.symptoms.rule import Named
from autograd_surprises.symptoms.where_it_went import lost_behind
from autograd_surprises.symptoms.wrong import ACCUMULATED, OldGradient
from autograd_surprises.symptoms.zeros import (
    BALANCED,
    IGNORE_A_SHIFT,
    MOSTLY_ROUNDED,
    NO_TOKEN,
    NOT_PICKED,
    PART_NOT_PICKED,
    PARTIAL,
    PRODUCTS,
    ROUNDED,
    SHIFT,
    SHRINKS,
    SMALL_INPUT,
    STARTS_AT_ZERO,
    STARTS_AT_ZERO_IN_FUNCTION,
    STARTS_SMALL,
    TINY,
    ZERO,
    ZERO_SUM,
    Factor,
    FactorInFunction,
    Shrinking,
    has_empty_inputs,
)

TINY_L1, DROP, VANISHED = 1e-5, 1e-3, 1e-9  # of what entered; in one step; in many steps
NEAR = 20  # how many steps above a tensor are searched for what blocks a part of its gradient
GROWS = 100  # times as large a tiny gradient has to be without the step that is blamed
FEW = 0.9  # if more than that is not 0, the cause is searched only for a tensor asked for by name
NOISE_SIZE = 0.8  # the mean of |noise|
TOTALS = {"Sum", "Mean"}
LAST_DIGITS = 100  # rounding errors that may add up in a sum of contributions that cancel


def judge(case: Case, name: str, tensor: torch.Tensor) -> Finding:
    """The finding for one tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> explain((w * 3).sum(), {"w": w})["w"].node
    '2 of 2 not 0'
    """
    if not tensor.requires_grad or tensor.is_inference():
        return _untracked(case, name, tensor)
    found = _judge_gradient(case, name, tensor, edge_of(tensor))
    if tensor.grad_fn is not None and not tensor.retains_grad:
        return _of_non_leaf(case, found, tensor)
    if tensor.is_leaf and tensor.grad is not None and found.status in ("ok", "partial"):
        return _of_old_gradient(case, found, tensor)
    return found


def _judge_gradient(case, name, tensor, edge):
    reached = case.backward and (edge in case.backward.into or edge[0] is case.backward.root.node)
    if not reached and case.backward and id(tensor) in case.backward.hidden:
        return _hidden(name, case.backward.grads[id(tensor)].size)
    if not reached and not case.asked and case.leaves_out(tensor):
        return LEFT_OUT.finding().about(name, "none")
    if not reached:
        return _unreached(case, name, tensor)
    gradient = case.backward.grads.get(id(tensor))
    if gradient is None:
        origins = case.backward.origins(*edge, "lost")
        step = next((o for o in origins if isinstance(o, BackwardStep)), None)
        found = RETURNED_NONE.finding(step or Named("a backward on the way"))
        return found.about(name, "none", at(step) if step else ())
    size = gradient.size
    if not size.finite:
        return _not_finite(case, name, size, edge)
    if not size.total:
        return Finding(name, "ok", node="it has no elements")
    if size.nonzero == 0:
        return _zero(case, name, tensor, edge)
    tiny = size.l1 < TINY_L1 * case.entered
    found = _tiny(case, name, tensor, size, edge) if tiny else None
    if found is None and size.nonzero < size.total:
        found = _partial(case, name, gradient, edge)
    return found or Finding(name, "ok", node=f"{size.in_words()} not 0")


def _hidden(name, size):
    """What can be said of a gradient from inside a reentrant checkpoint: its numbers."""
    node = f"{size.in_words()} not 0"
    if size.finite and size.nonzero:
        return Finding(name, "ok" if size.nonzero == size.total else "partial", node=node)
    status = "zero" if size.finite else "nan" if size.nan else "inf"
    return HIDDEN.finding().about(name, status, node=node)


def at(step: BackwardStep, label: str = "at") -> tuple:
    """The place of a step, if the forward pass was recorded."""
    return ((label, step.where),)


def in_and_out(step: BackwardStep) -> str:
    """What arrived at a step and what left it: "RoundBackward0: 2 of 3 in, 0 of 3 out"."""
    known = step.called.replace("_", "") in step.name.lower()
    part = "" if known else f", part of {step.called}()"
    arrived = ", ".join(size.in_words() for size in step.arriving if size)
    left = ", ".join(size.in_words() for size in step.leaving if size) or "nothing"
    return f"{step.name}{part}: {arrived} in, {left} out"


# None


def _untracked(case, name, tensor):
    detached = detached_when_made(case.history, tensor)
    if detached is not None:
        return _detached(name, detached)
    is_buffer = case.model is not None and any(tensor is b for b in case.model.buffers())
    switched_off = case.history.written_at(tensor, "requires_grad_")
    made_at = case.history.made_at(tensor)
    places = (("set at", switched_off),) if switched_off else (("made at", made_at),)
    picked = id(tensor) in case.picked
    on_purpose = not (case.asked or picked or id(tensor) in case.only_frozen)
    facts = TensorFacts(tensor, is_buffer=is_buffer, on_purpose=on_purpose, picked=picked)
    return UNTRACKED.first(facts).finding(facts).about(name, "none", places)


def _detached(name, detached, also=(), before=""):
    places = [("cut at", detached.where)]
    if detached.switched_off is not None:
        switch = detached.switched_off.at
        of_user = owner_of(switch.file) == "user"  # the line to edit stands first
        places.insert(0 if of_user else 1, ("recording was switched off at", switch))
    places.append(("computed at", detached.call.where))
    found = detached.rule.finding(detached.lost).about(name, "none", places, also=also)
    return replace(found, sentence=before + found.sentence, call=detached.call)


def _unreached(case, name, tensor):
    """No path in the graph leads from the loss to this tensor."""
    also = []
    twin = case.leaves_by_memory.get(memory(tensor))
    if twin is not None and twin is not tensor:
        also.append(f"the graph holds another leaf with the same numbers, {case.name(twin)}: "
                    "probably .detach(), .data or nn.Parameter(...) made it")  # fmt: skip
    went = case.destinations.of(tensor)
    if went.lost:
        is_straight_through = case.history.is_straight_through
        lost, *more = sorted(went.lost, key=lambda each: not is_straight_through(each.call))
        if is_straight_through(lost.call):
            lost = replace(lost, rule=STRAIGHT_THROUGH)
        found = _detached(name, lost, also)
        first = _checkpointing_at(case) if found.cause == "reentrant-checkpoint" else ()
        others = [("and at", other.call.where) for other in more]
        return found.about(name, "none", (*first, *found.places, *others), also=also)
    if went.left:
        return _detached(name, went.left[0], also, "maybe here: ")
    uses = case.history.uses(tensor)
    other = "" if uses else case.used_instead_of(tensor)
    if other:
        also.append(f"maybe forward calls `{other}` in its place: is it named differently there?")
    is_copied = bool(uses) and all(set(call.outputs) <= set(call.lost) for call in uses)
    lives = uses and not is_copied
    ends = (("ends at", case.history.calls[went.end].where),) if lives else ()
    places = ends if uses else _forward_without(case, tensor)
    step = None if case.recorded else case.steps_by_constant.get(memory(tensor))
    alike = [t for t in case.leaves_by_shape.get(tuple(tensor.shape), ()) if t is not tensor]
    if alike and step is None and not uses:
        also.append(
            f"{case.name(alike[0])}, of the same shape, is used: was it copied or replaced?"
        )
    facts = TensorFacts(
        tensor,
        recorded=case.recorded,
        is_used=bool(uses),
        is_copied=is_copied,
        constant_of=step.name if step else "",
        derivative_only=lives and case.history.only_derivatives(case.loss, went.end),
        in_library=lives and ends[0][1].inside is not None,
    )
    return UNREACHED.first(facts).finding(facts).about(name, "none", places, also=also)


def _checkpointing_at(case):
    """Where modules were given a checkpoint(), as gradient_checkpointing_enable() does."""
    for module in case.model.modules() if case.model is not None else ():
        for attribute, value in vars(module).items():
            if isinstance(value, partial) and value.func is checkpoint:
                return (("checkpointing was switched on at", stored_at(module, attribute)),)
    return ()


def _forward_without(case, tensor):
    """Where the forward that left a parameter out ended: that of the nearest module around it."""
    modules = list(case.model.named_modules()) if case.recorded and case.model is not None else ()
    for path, module in reversed(modules):  # a module comes before its parts
        if any(tensor is p for p in module.parameters()):
            ended = case.history.ended_at(path, module)
            if ended is not None:
                return (("a forward without it, up to", ended),)
    return ()


def _of_non_leaf(case, found, tensor):
    """Autograd fills .grad of leaves only, whatever else may be wrong."""
    step = case.backward.steps.get(tensor.grad_fn) if case.backward else None
    node = f"{found.node}, but not kept" if found.node else ""
    places = at(step, "made at") if step else ()
    told = NOT_A_LEAF.finding(Named(found.name)).about(found.name, "none", places, node)
    if found.status in ("ok", "partial"):
        return told
    return replace(found, also=(told.sentence, *found.also))


# Zero, tiny, partial


def _zero(case, name, tensor, edge):
    origins = case.backward.origins(*edge, "lost") or [GradientSum()]
    steps = [origin for origin in origins if isinstance(origin, BackwardStep)]
    if steps and _shifts(case, steps[0], edge):
        node = f"died in {in_and_out(steps[0])}"
        return _shift(case, steps[0], edge).finding().about(name, "zero", at(steps[0]), node)
    if _is_rounded(case, tensor, 0):
        return ROUNDED.finding().about(name, "zero", _enters_float16(case, edge))
    if not steps:
        return _zero_sum(case, name, tensor, edge[0], origins[0])
    step, *others = steps
    node = f"died in {in_and_out(step)}"
    factor = _zero_input(case, step, tensor)
    if factor is not None:
        facts = FactorInFunction(case.name(factor), step.own_name, step.whose)
        return STARTS_AT_ZERO_IN_FUNCTION.finding(facts).about(name, "zero", at(step), node)
    places, also = at(step), []
    factors = [next((p for p in zero_parameters(o) if p is not tensor), None) for o in steps]
    if factors[0] is not None:  # the factor that is zero is a parameter
        places = (("set at", case.history.written_at(factors[0])), *at(step))
        facts = Factor(case.name(factors[0]), 0.0)
        if all(factor is not None and case.trains(factor) for factor in factors):
            return STARTS_AT_ZERO.finding(facts).about(name, "zero", places, node)
        itself = any(parameter_at(edge) is factors[0] for edge in step.edges)
        is_it = f"is `{facts.name}`" if itself else f"is 0 because `{facts.name}` is"
        also = [f"that factor {is_it}"]
    picking = _picks_others(case, step, edge) if step.kind in ("Cat", "Stack") else None
    if picking is not None:
        return PART_NOT_PICKED.first(picking).finding(picking).about(name, "zero", at(picking))
    if step.lets_through is None:
        dead = [e for e, a in zip(step.edges, step.leaving, strict=True) if a and not a.nonzero]
        tried = [lets_through(case.backward, step, end) for end in dead]
        step.lets_through = None if None in tried else any(tried)
    for other in others:
        line = f", at {other.where}" if other.where else ""
        also.append(f"on another path: {case.why(other, ZERO).sentence}{line}")
    return case.why(step, ZERO).about(name, "zero", places, node, also)


def _is_rounded(case, tensor, nonzero):
    """Does a larger loss give it more elements that are not 0? Factors of 2 are exact."""
    larger = case.scaled.get(id(tensor))
    return larger is not None and larger.finite and larger.nonzero > 2 * nonzero


def _enters_float16(case, edge):
    """Where the gradient of the loss first becomes one of float16, as the place of a finding."""
    like, found = case.backward.like, ()
    for step, _ in case.backward.main_way(*edge):
        dtypes = [like[end][1] for end in ((step.node, 0), *step.edges) if end in like]
        if step.kind == "ToCopy" and dtypes[0] != torch.float16 == dtypes[-1]:
            found = at(step, "becomes float16 at")
    return found


def _picks_others(case, joined, edge):
    """The step above a cat that picks parts, and none of the one whose gradient is 0."""
    above = islice(case.backward.main_way(joined.node, 0), NEAR)
    picking = [step for step, _ in above if NOT_PICKED.fits(step)]
    for step in picking[:TRIES]:
        arrived = sent(case.backward, arriving_at(step), edge)
        left = sent(case.backward, leaving(step), edge)
        if arrived is not None and not arrived.any() and left is not None and left.any():
            return step
    return None


def _zero_input(case, step, tensor):
    """A parameter that enters a Function written in Python, is 0 everywhere, and is trained."""
    entering = [parameter_at(edge) for edge in step.edges] if step.is_users else ()
    zeros = [p for p in entering if p is not None and p is not tensor and case.trains(p)]
    return next((p for p in zeros if not bool(numbers_of(p).any())), None)


def _zero_sum(case, name, tensor, node, total):
    """No single step did it: it was zero from the start, a hook did it, or contributions cancel."""
    found = ZERO_SUM.first(total).finding(total)
    added = [(step, added_at(step, node)) for step in total.steps]
    if found.cause == "cancel" and all(
        k is not None and _others_get_more(case, step, k) for step, k in added
    ):
        found = BALANCED.finding()
    places = at(total.steps[0]) if total.steps else ()
    if found.cause == "hook":
        places = _hooks_at(case, tensor)
    return found.about(name, "zero", places)


def _hooks_at(case, tensor):
    """Where a hook was registered, preferably on this very tensor."""
    recorder = case.history.recorder
    states = recorder.states(tensor)
    hooks = sorted(recorder.hooks, key=lambda hook: hook[0] not in states)
    return tuple(("a hook was registered at", where) for _, where in hooks[:1])


def _tiny(case, name, tensor, size, edge):
    """One large drop, or many small ones. What two tensors have in common is judged once."""
    also = (f"the sum of |g| is {size.l1:.1e}, and {case.entered:.1e} entered at the loss",)
    if _is_rounded(case, tensor, size.nonzero):
        place = _enters_float16(case, edge)
        return MOSTLY_ROUNDED.finding().about(name, "tiny", place, also=also)
    ratios, kept = {}, {}
    for step, left in case.backward.main_way(*edge):
        if (step, left) in case.tiny:
            return replace(case.tiny[step, left], name=name, also=also)
        arrived = sum(a.l1 for a in step.arriving if a)
        if arrived > 0 and step.kind not in ("Cat", "Stack"):  # each of these passes on a part
            ratios[step], kept[step] = left.l1 / arrived, left
    worst = min(ratios, key=ratios.get, default=None)
    found, steps, passed = None, list(ratios), list(ratios)
    if worst is not None and ratios[worst] < DROP:
        below = steps[steps.index(worst) - 1].node if worst is not steps[0] else edge[0]
        found = _one_drop(case, tensor, size, edge, worst, below, ratios[worst])
        node = f"shrinks to {ratios[worst]:.1e} of it in {worst.name}"
        passed = steps[: steps.index(worst) + 1]
    if found is None:
        if size.l1 >= VANISHED * case.entered:
            return None
        worst = min(ratios, key=ratios.get)
        found, node, passed = _many_drops(ratios), "", steps
    places = at(worst)
    above = steps[steps.index(worst) + 1 :][:1]
    if found.cause == "normalised" and above and above[0].kind in TOTALS:
        places = (*at(above[0], "added up at"), *places)  # that is the line to edit
    found = found.about(name, "tiny", places, node, also)
    case.tiny.update(((step, kept[step]), found) for step in passed)
    return found


def _one_drop(case, tensor, size, edge, step, below, ratio):
    """The finding, if it is this step because of which the gradient is tiny."""
    if _shifts(case, step, edge):
        return _shift(case, step, edge).finding()
    if _scales(case, step, edge):
        return BALANCED.finding()
    found = _small_parameter(case, step, size.l1 / ratio, tensor)
    if found is not None:
        return found
    if _is_tiny_without(case, step, edge, size):
        return None
    step.lets_through = _shrinks_less(case, step, below, 30 * ratio)
    if step.lets_through is False and _computed_factor(step, below):
        return SMALL_INPUT.finding(step)
    found = case.why(step, TINY)
    return None if step.lets_through is not False and _adds_up(step, found) else found


def _adds_up(step, found):
    """May the drop be a sum whose parts cancel, instead of a small factor?"""
    left = min(size.total for size in step.leaving if size)
    return found.cause == "small-factor" and left < max(a.total for a in step.arriving if a)


def _is_tiny_without(case, step, edge, size):
    """Would it be tiny even if this step passed on as much as it gets?"""
    arrived = sent(case.backward, leaving(step), edge)
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
    return SHRINKS.finding(Shrinking(", ".join(parts)))


def _shrinks_less(case, step, below, ratio):
    """Would another gradient keep more than this share of its size in this step?"""
    end = next((edge for edge in step.edges if edge[0] is below), None)
    arrived = end and sent(case.backward, arriving_at(step), end)
    if arrived is None:
        return None
    elements = sum(size.total for size in step.arriving if size)
    return size_of(arrived).l1 > ratio * elements * NOISE_SIZE


def _small_parameter(case, step, without, tensor):
    """The finding, if a step multiplies by a parameter that starts small, as a layer scale does.

    without  the size of the gradient if it were not for this factor
    """
    if step.kind not in PRODUCTS or without < TINY_L1 * case.entered:
        return None
    for edge in multiplied(step):
        factor = parameter_at(edge)
        if factor is not None and factor is not tensor and case.trains(factor):
            largest = float(numbers_of(factor).abs().max())
            if largest <= DROP:
                return STARTS_SMALL.finding(Factor(case.name(factor), largest))
    return None


def _shifts(case, step, edge):
    """Is it added in many places, and do their gradients cancel, but not those of other tensors?"""
    k, (arrived, *more) = added_at(step, edge[0]), step.arriving
    if k is None or not arrived or any(more) or step.leaving[k].total >= arrived.total:
        return False
    _, dtype, _ = case.backward.like[step.node, 0]
    return _cancels(step.leaving[k], arrived, dtype) and _others_get_more(case, step, k)


def _scales(case, step, edge):
    """Is it the weight of a normalisation, and do the parts of its gradient cancel?"""
    if step.kind not in IGNORE_A_SHIFT or edge not in step.edges or not step.arriving[0]:
        return False
    _, dtype, _ = case.backward.like[step.node, 0]
    k = step.edges.index(edge)
    return _cancels(step.leaving[k], step.arriving[0], dtype) and _others_get_more(case, step, k)


def _others_get_more(case, step, k):
    """Do other tensors get a gradient from this step; or elsewhere, if it only adds a constant?"""
    others = [size for i, size in enumerate(step.leaving) if size and i != k]
    others = others or [arrived.size for arrived in case.backward.grads.values()]
    return any(size.nonzero for size in others if size is not step.leaving[k])


def _shift(case, step, edge):
    """Do they cancel whatever the loss is, because of a normalisation above? Or only here?"""
    above = [s for s, _ in islice(case.backward.main_way(step.node, 0), NEAR)]
    for normalising in [s for s in above if s.kind in IGNORE_A_SHIFT][:TRIES]:
        starts = arriving_at(normalising)
        arrived = sent(case.backward, starts, (step.node, 0))
        added = sent(case.backward, starts, edge)
        if arrived is None or added is None:
            break
        if _cancels(size_of(added), size_of(arrived), arrived.dtype):
            return SHIFT
    return BALANCED


def _cancels(total, contributions, dtype):
    return total.l1 <= LAST_DIGITS * torch.finfo(dtype).eps * contributions.l1


def _partial(case, name, gradient, edge):
    """The step that made the zeros is named if that can be proven."""
    size = gradient.size
    node = f"{size.in_words()} not 0"
    found = Finding(name, "partial", node=node)
    few = not case.asked and size.nonzero > FEW * size.total
    if few or gradient.zeros is None:
        return found
    step = maker_of_zeros(case.backward, gradient.zeros, edge, _suspects(case, edge))
    if step is None or not any(rule.fits(step) for rule in PARTIAL):
        return found
    stops = f"; {step.stopped} stop in {step.name}" if step.stopped else ""
    return case.why(step, PARTIAL).about(name, "partial", at(step), node + stops)


def _suspects(case, edge):
    """The steps above a tensor that may have made zeros, the nearest first."""
    for step, size in islice(case.backward.main_way(*edge), NEAR):
        if size.nonzero == size.total:
            return
        if step.stopped or _loses(step) or has_empty_inputs(step):
            yield step


def _loses(step):
    """Is a larger share 0 of what leaves it than of what arrived?"""
    share = max((a.nonzero / a.total for a in step.arriving if a and a.total), default=0)
    return any(a.nonzero < share * a.total for a in step.leaving if a)


# Inf and NaN


def _not_finite(case: Case, name: str, size: GradientSize, edge: tuple[Node, int]) -> Finding:
    status = "nan" if size.nan else "inf"
    count = f"{size.inf + size.nan} of {size.total} elements are not finite"
    origins = case.backward.origins(*edge, "not finite") or [GradientSum()]
    step = next((origin for origin in origins if isinstance(origin, BackwardStep)), None)
    if step is None:
        found = NOT_FINITE_SUM.first(origins[0]).finding(origins[0])
        return found.about(name, status, (), count)
    node, also = f"first not finite in {in_and_out(step)}", [count]
    if step.spoiled is not None:
        also += _first_spoiled(step, *step.spoiled)
    if MASKED_TOO_LATE.fits(step):
        return MASKED_TOO_LATE.finding(step).about(name, status, at(step), node, also)
    if case.birth is not None:
        return case.birth.about(name, status, case.birth.places, node, also)
    return case.why(step, NOT_FINITE).about(name, status, at(step), node, also)


NAMES = {"self": "input", "other": "second input", "result": "result"}  # torch's names, ours


def _first_spoiled(step, position, arrived):
    """What arrived at the first element that is not finite, and what the step kept there."""
    said = [f"at element {list(position)}"] if position else []
    said += [] if arrived is None else [f"a gradient of {arrived:g} arrived"]
    kept = []
    for name, value in sorted(step.tensors().items(), key=lambda pair: pair[0] != "self"):
        fits = value.dim() == len(position) and value.is_floating_point()
        if fits and all(i < n for i, n in zip(position, value.shape, strict=True)):
            kept.append(f"its {NAMES.get(name, name)} was {value[position].item():g}")
    values = f" ({', '.join(kept)})" if kept else ""
    return [", ".join(said) + values] if said else []


# Experts


def without_idle_experts(findings: list[Finding], targets: dict) -> list[Finding]:
    """The findings, where an expert that no sample was sent to is no alarm.

    It is told by a sibling of the same shape, whose path differs in one number, with a gradient.

    >>> model = torch.nn.Module()
    >>> model.experts = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
    >>> loss = model.experts[1](torch.ones(1, 2)).sum()
    >>> explain(loss, model).healthy
    True
    """
    trained: dict[tuple, str] = {}
    for found in findings:
        if found.status in ("ok", "partial") and found.name in targets:
            trained.setdefault(_place(found.name, targets), found.name)
    return [_without_sample(found, targets, trained) for found in findings]


def _without_sample(found, targets, trained):
    unused = found.cause in ("unused", "unknown-cut", "dead-branch") and "expert" in found.name
    if found.name not in targets or not (unused or found.cause == "empty-selection"):
        return found
    sibling = trained.get(_place(found.name, targets))
    if sibling is None:
        return found
    told = NO_TOKEN.finding(Named(sibling))
    return told.about(found.name, found.status, found.places, found.node)


def _place(name, targets):
    """A path without its numbers, and the shape of the tensor there."""
    return re.sub(r"(^|(?<=[._]))\d+(?=\.)", "*", name), targets[name].shape


# The loss, and a number that is not the one you want


def about_loss(case: Case, targets: dict, grad_outputs: torch.Tensor | None) -> list[Finding]:
    """Findings about the loss itself: no history, not one number, not finite."""
    facts = LossFacts(case.loss, case.recorded, grad_outputs is not None)
    rule = next((rule for rule in LOSS if rule.fits(facts)), None)
    if rule is not None:
        status = "none" if rule is LOSS_IS_LEAF else "error"
        return [rule.finding(facts).about("loss", status, _lost_at(case, targets))]
    if not bool(case.loss.isfinite().all()):
        status = "nan" if bool(case.loss.isnan().any()) else "inf"
        born = case.birth or UNKNOWN_ORIGIN.finding()
        return [born.about("loss", status, born.places)]
    return []


def _lost_at(case, targets):
    """Where a loss lost its history or was made; otherwise, where frozen tensors were made."""
    if case.backward is not None:
        return at(case.backward.root, "made at")
    lost = lost_behind(case.history, case.history.recorder.states(case.loss))
    if lost or case.loss.requires_grad:
        return lost
    return [
        (f"{name}, which requires no gradient, was made at", case.history.made_at(tensor))
        for name, tensor in targets.items()
        if not tensor.requires_grad
    ]


def _of_old_gradient(case, found, leaf):
    """backward() adds to .grad: does it already hold this very gradient several times?"""
    times = case.backward.grads[id(leaf)].times_in_grad
    if times is None:
        return found
    calls = [call for call in case.history.calls if call.name == "backward"]
    places = (("backward at", calls[-1].where),) if calls else ()
    told = ACCUMULATED.finding(OldGradient(times))
    return told.about(found.name, "wrong", places, found.node)
