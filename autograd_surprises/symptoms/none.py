"""The gradient of a tensor is None: where its history was lost, or why no path leads to it."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

from torch.utils.checkpoint import checkpoint

from autograd_surprises.backward.steps import BackwardStep, memory
from autograd_surprises.recording.modules import parameters_in
from autograd_surprises.recording.places import owner_of
from autograd_surprises.recording.setup_lines import stored_at
from autograd_surprises.symptoms.detached import (
    INFERENCE_MODE,
    RECORD,
    REENTRANT_CHECKPOINT,
    STRAIGHT_THROUGH,
    detached_when_made,
)
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.rule import Rule, Rulebook


def untracked(gradient: Gradient) -> Finding | None:
    """The finding about a tensor that does not require a gradient.

    >>> data = torch.ones(2)
    >>> weight = torch.ones(2, requires_grad=True)
    >>> explain((data * weight).sum(), {"data": data})["data"].rule
    'frozen/flag'
    """
    exam, tensor = gradient.exam, gradient.tensor
    if tensor.requires_grad and not tensor.is_inference():
        return None
    detached = detached_when_made(exam.history, tensor)
    if detached is not None:
        return _detached(gradient.name, detached)
    is_buffer = exam.model is not None and any(tensor is b for b in exam.model.buffers())
    switched_off = exam.history.written_at(tensor, "requires_grad_")
    place = ("set at", switched_off) if switched_off else ("made at", exam.history.made_at(tensor))
    picked = id(tensor) in exam.picked
    on_purpose = not (exam.asked or picked or id(tensor) in exam.only_frozen)
    facts = SimpleNamespace(
        inference=tensor.is_inference(),
        is_buffer=is_buffer,
        on_purpose=on_purpose,  # as a part of a model may be frozen: others beside it are trained
        picked=picked,
        dtype=tensor.dtype,
        shown=((place,), ""),
    )
    return gradient.finding(UNTRACKED.first(facts), facts, "none")


def hidden(gradient: Gradient) -> Finding | None:
    """The finding about a gradient from inside a reentrant checkpoint: its numbers are known."""
    walked = gradient.exam.backward
    if gradient.is_connected or walked is None or id(gradient.tensor) not in walked.hidden:
        return None
    size, name, node = gradient.size, gradient.name, gradient.in_words
    if size.finite and size.nonzero:
        return Finding(name, "ok" if size.nonzero == size.total else "partial", node=node)
    status = "zero" if size.finite else "nan" if size.nan else "inf"
    return HIDDEN.finding().about(name, status, node=node)


def left_out(gradient: Gradient) -> Finding | None:
    """The finding about a tensor that this loss does not reach, and that nobody trains with it."""
    exam = gradient.exam
    if gradient.is_connected or exam.asked or not exam.leaves_out(gradient.tensor):
        return None
    return LEFT_OUT.finding().about(gradient.name, "none")


def cut(gradient: Gradient) -> Finding | None:
    """The finding about a tensor whose history was lost on the way to the loss.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with trace() as t:
    ...     loss = x.detach().sum() + torch.ones(1, requires_grad=True).sum()
    >>> t.explain(loss, {"x": x})["x"].rule
    'detach/call'
    """
    if gradient.is_connected:
        return None
    also = _of_the_same_numbers(gradient)
    if gradient.went.detached:
        return _detached_on_the_way(gradient, also)
    if gradient.went.left_torch:
        return _detached(gradient.name, gradient.went.left_torch[0], also, "maybe here: ")
    return None


def _detached(name, detached, also=(), before=""):
    places = [("cut at", detached.where)]
    if detached.switched_off is not None:
        of_user = owner_of(detached.switched_off.file) == "user"  # the line to edit stands first
        switch = "recording was switched off at", detached.switched_off
        places.insert(0 if of_user else 1, switch)
    places.append(("computed at", detached.call.where))
    found = detached.rule.finding(detached.lost).about(name, "none", places, also=also)
    return replace(found, sentence=before + found.sentence)


def _of_the_same_numbers(gradient):
    exam = gradient.exam
    twin = exam.leaves_by_memory.get(memory(gradient.tensor))
    if twin is None or twin is gradient.tensor:
        return []
    return [f"the graph holds another leaf with the same numbers, {exam.name(twin)}: "
            "probably .detach(), .data or nn.Parameter(...) made it"]  # fmt: skip


def _detached_on_the_way(gradient, also):
    """The first of these is to blame, but a straight-through estimator before others."""
    is_straight_through = gradient.exam.history.is_straight_through
    several = sorted(gradient.went.detached, key=lambda each: not is_straight_through(each.call))
    lost, *more = several
    if is_straight_through(lost.call):
        lost = replace(lost, rule=STRAIGHT_THROUGH)
    found = _detached(gradient.name, lost, also)
    first = _checkpointing_at(gradient.exam.model) if lost.rule is REENTRANT_CHECKPOINT else ()
    others = [("and at", other.call.where) for other in more]
    return found.about(gradient.name, "none", (*first, *found.places, *others), also=also)


def _checkpointing_at(model):
    """Where modules were given a checkpoint(), as gradient_checkpointing_enable() does."""
    for module in model.modules() if model is not None else ():
        for attribute, value in vars(module).items():
            if isinstance(value, partial) and value.func is checkpoint:
                return (("checkpointing was switched on at", stored_at(module, attribute)),)
    return ()


def never_connected(gradient: Gradient) -> Finding | None:
    """The finding about a tensor to which no path leads, though nothing cut it, as far as is known.

    >>> x = torch.ones(2, requires_grad=True)
    >>> explain(torch.ones(1, requires_grad=True).sum(), {"x": x})["x"].rule
    'unknown-cut'
    """
    if gradient.is_connected:
        return None
    exam, tensor, history = gradient.exam, gradient.tensor, gradient.exam.history
    also, end, uses = _of_the_same_numbers(gradient), gradient.went.end, history.uses(tensor)
    other = "" if uses else exam.used_instead_of(tensor)
    if other:
        also.append(f"maybe forward calls `{other}` in its place: is it named differently there?")
    is_copied = bool(uses) and all(set(call.outputs) <= set(call.lost) for call in uses)
    lives = bool(uses) and not is_copied
    behind = history.behind(exam.loss, exam.backward) if lives else set()
    inside = history.used_in_function(tensor, behind)
    is_part = any(behind.intersection(call.outputs) for call in uses)
    ends = (("ends at", history.calls[end].where),) if lives and end >= 0 else ()
    if inside is not None:
        ends = (("used at", inside.where), ("applied at", inside.node_line))
    step = None if exam.recorded else exam.steps_by_constant.get(memory(tensor))
    alike = [t for t in exam.leaves_by_shape.get(tuple(tensor.shape), ()) if t is not tensor]
    if alike and step is None and not uses:
        also.append(
            f"{exam.name(alike[0])}, of the same shape, is used: was it copied or replaced?"
        )
    derivative_only = lives and history.only_derivatives(exam.loss, end)
    facts = SimpleNamespace(
        recorded=exam.recorded,
        is_used=bool(uses),
        is_copied=is_copied,  # its uses only returned numbers without history
        constant_of=step.name if step else "",
        derivative_only=derivative_only,
        function=inside.function[0].__name__ if inside is not None else "",
        is_cut_unseen=is_part and inside is None and not derivative_only,
        in_library=bool(ends) and ends[0][1].inside is not None,
        shown=(ends if uses else _forward_without(exam, tensor), ""),
    )
    return gradient.finding(UNREACHED.first(facts), facts, "none", also)


def _forward_without(exam, tensor):
    """Where the forward that left a parameter out ended: that of the nearest module around it."""
    modules = list(exam.model.named_modules()) if exam.recorded and exam.model is not None else ()
    for path, module in reversed(modules):  # a module comes before its parts
        if any(tensor is p for p in parameters_in(module)):
            ended = exam.history.ended_at(path, module)
            if ended is not None:
                return (("a forward without it, up to", ended),)
    return ()


def returned_none(gradient: Gradient) -> Finding | None:
    """The finding where a path leads to the tensor, and a backward on it returned None."""
    if gradient.arrived is not None:
        return None
    step = next((o for o in gradient.origins("lost") if isinstance(o, BackwardStep)), None)
    found = RETURNED_NONE.finding(name=step.name if step else "a backward on the way")
    return found.about(gradient.name, "none", at(step) if step else ())


def not_kept(gradient: Gradient, found: Finding) -> Finding:
    """The same, and that autograd does not keep it: it fills .grad of leaves only."""
    walked = gradient.exam.backward
    step = walked.steps.get(gradient.tensor.grad_fn) if walked else None
    node = f"{found.node}, but not kept" if found.node else ""
    places = at(step, "made at") if step else ()
    not_a_leaf = NOT_A_LEAF.finding(name=found.name).about(found.name, "none", places, node)
    if found.status in ("ok", "partial"):
        return not_a_leaf
    return replace(found, also=(not_a_leaf.sentence, *found.also))


# It does not require a gradient.
UNTRACKED = Rulebook([INFERENCE_MODE])

UNTRACKED.add(
    "frozen/buffer",
    "it is a buffer: autograd does not track it, and parameters() does not list it",
    "to train it, use nn.Parameter(...) instead of register_buffer(...)",
    "parameter.adds",
    when=lambda facts: facts.is_buffer,
)

UNTRACKED.add(
    "frozen/on-purpose",
    "it is frozen: its requires_grad is False, and other parameters are trained",
    "do nothing if you froze it on purpose",
    "none.frozen",
    when=lambda facts: facts.on_purpose,
    alarm=False,
)

UNTRACKED.add(
    "frozen/by-a-later-call",
    "it is frozen, but the optimizer holds it and not the other frozen parameters beside it: "
    "probably a later call froze it together with them",
    "call .requires_grad_() on it, or freeze the others before you add it",
    "none.frozen",
    when=lambda facts: facts.picked,
)

UNTRACKED.add(
    "frozen/integer",
    "requires_grad is False, so autograd does not track it; it is {dtype}, and integers have no "
    "gradient",
    "call .float(), then .requires_grad_(), before the forward pass",
    "leaf.refused",
    when=lambda facts: not (facts.dtype.is_floating_point or facts.dtype.is_complex),
)

UNTRACKED.add(
    "frozen/flag",
    "requires_grad is False, so autograd does not track it",
    "call .requires_grad_() on it before the forward pass",
    "none.frozen",
)

# It requires a gradient, and no path in the graph leads to it from the loss.
UNREACHED = Rulebook()

UNREACHED.add(
    "detach/constant",
    "{constant_of} used its numbers as a constant, so a .detach(), .data or no_grad copy was used "
    "instead of the tensor itself",
    f"use the tensor itself. Which line? {RECORD}",
    "none.detached",
    when=lambda facts: not facts.recorded and facts.constant_of != "",
)

UNREACHED.add(
    "unknown-cut",
    "no path leads to it from the loss. The reason cannot be known afterwards: detach, .data, "
    ".item(), no_grad and argmax leave no trace in the graph, and a tensor that was never used "
    "looks the same",
    RECORD,
    "none",
    when=lambda facts: not facts.recorded or facts.is_cut_unseen,
)

UNREACHED.add(
    "unused/never",
    "the recorded forward pass never used this tensor",
    "use it in forward, or remove it. If you do use it: is it the same object, not an old one or a "
    "copy?",
    "none.unused",
    when=lambda facts: not facts.is_used,
)

UNREACHED.add(
    "unused/copied",
    "only copies of its numbers were used (detach, no_grad, deepcopy, a log), and no gradient "
    "flows back from a copy",
    "use it in forward, or remove it",
    "none.unused",
    when=lambda facts: facts.is_copied,
)

UNREACHED.add(
    "dead-branch/derivatives",
    "the loss uses only derivatives (torch.autograd.grad) of what is computed from it, and they do "
    "not depend on it: for example, the last bias of a network that solves a differential equation",
    "do nothing, or add a term with the values themselves, such as a boundary condition",
    when=lambda facts: facts.derivative_only,
    alarm=False,
)

UNREACHED.add(
    "not-an-argument",
    "{function}.forward uses it, but {function}.apply does not get it as an argument, so no "
    "gradient comes back to it",
    "pass it to {function}.apply(...), and return its gradient from backward",
    "function.inputs",
    when=lambda facts: facts.function != "",
)

UNREACHED.add(
    "dead-branch/library",
    "a library's model computes something from it that this loss does not use",
    "do nothing if you need only a part of what the model returns",
    when=lambda facts: facts.in_library,
    alarm=False,
)

UNREACHED.add(
    "dead-branch/loss",
    "it is used, but nothing computed from it is part of this loss",
    "use the result of that line in the loss",
)

# No path leads to it, and nobody expects one.
LEFT_OUT = Rule(
    "not-in-optimizer/left-out",
    "this loss does not train it, and the optimizer does not hold it",
    "do nothing if that is intended, as for a target network, a teacher or an average of weights; "
    "otherwise pass it to the optimizer",
    alarm=False,
)

# A path leads to it, but there is no gradient.
NOT_A_LEAF = Rule(
    "not-a-leaf",
    "it is a non-leaf, the result of an operation, and by default autograd fills only the .grad "
    "of leaves",
    "{name}.retain_grad() before backward(), or torch.autograd.grad(loss, {name}); to train it, "
    "compute it first, then call .requires_grad_()",
    "none.non-leaf",
)

RETURNED_NONE = Rule(
    "returned-none",
    "{name} got a gradient and returned None for this input",
    "a backward returns a gradient for every input that needs one",
    "function.inputs",
)

# Its gradient is known, but nothing of the way there.
HIDDEN = Rule(
    "reentrant-checkpoint/hidden",
    "its gradient comes from inside a reentrant checkpoint, into which explain() cannot look",
    "checkpoint(..., use_reentrant=False), then explain again",
    "checkpoint.frozen",
)
