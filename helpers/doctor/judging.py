"""What happened to the gradient of each tensor, and why."""

from __future__ import annotations

from dataclasses import replace

import torch

from helpers.doctor.backward import Step, edge_of, measure
from helpers.doctor.case import Case, because, first_step, in_and_out
from helpers.doctor.causes import words
from helpers.doctor.nonfinite import born_in_forward, not_finite
from helpers.doctor.reasons import ZERO, reason
from helpers.doctor.report import Finding, finding

HARD_TO_AVOID = ("integer", "no-derivative", "deepcopy")  # so blame another cut, if there is one
TINY, DROP, VANISHED = 1e-5, 1e-3, 1e-9  # of what entered; in one step; after many steps


def judge(case: Case, name: str, tensor: torch.Tensor) -> Finding:
    """The finding for one tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> explain((w * 3).sum(), {"w": w})["w"].node
    '2/2 elements get a gradient'
    """
    if not tensor.requires_grad:
        return _not_tracked(case, name, tensor)
    found = _judge_gradient(case, name, tensor, edge_of(tensor))
    if tensor.grad_fn is not None and not tensor.retains_grad:
        return _of_result(case, found, tensor)
    if tensor.is_leaf and tensor.grad is not None and found.status in ("ok", "partial"):
        return _of_old_gradient(case, found, tensor)
    return found


def _judge_gradient(case, name, tensor, edge):
    reached = case.backward and (edge in case.backward.into or edge[0] is case.backward.root.node)
    if not reached:
        return _unreached(case, name, tensor)
    gradient = case.backward.grads.get(id(tensor))
    if gradient is None:
        step = first_step(case.backward.origins(*edge, "lost"))
        node, places = (step.name, case.place(step)) if step else ("a backward on the way", ())
        return finding(name, "none", "returned-none", places, step=node)
    amount = measure(gradient)
    if not amount.finite:
        return not_finite(case, name, gradient, edge)
    if not amount.total:
        return Finding(name, "ok", node="it has no elements")
    if amount.nonzero == 0:
        return _zero(case, name, tensor, edge)
    way = case.backward.main_way(*edge)
    found = _tiny(case, name, amount, way)
    if found is None and amount.nonzero < amount.total:
        found = _partial(case, name, amount, way)
    return found or Finding(name, "ok", node=f"{amount} elements get a gradient")


# None


def _not_tracked(case, name, tensor):
    cut = case.history and case.history.cut_when_made(tensor)
    if cut:
        return _cut(name, *cut)
    if tensor.is_inference():
        return finding(name, "none", "inference-mode")
    integer = not (tensor.is_floating_point() or tensor.is_complex())
    more = f"; it is {tensor.dtype}, and integers have no gradient" if integer else ""
    places = ()
    if case.history:
        off = case.history.written_at(tensor, "requires_grad_")
        places = (("set at", off),) if off else (("made at", case.history.made_at(tensor)),)
    return finding(name, "none", "frozen", places, more=more)


def _cut(name, call, cut, also=(), said=""):
    places = cut.places
    if not places or places[0][0] != "cut at":
        places = (("cut at", call.where), *places)
    places = (*places, ("computed at", call.where))
    found = finding(name, "none", cut.cause, places, also=also, **cut.names)
    return replace(found, sentence=said + found.sentence, call=call)


def _unreached(case, name, tensor):
    """No way in the graph leads from the loss to this tensor."""
    also = [
        f"the graph holds another leaf with the same memory, {case.name(leaf)}: probably "
        ".detach(), .data or nn.Parameter(...) made it"
        for leaf in case.leaves()
        if leaf is not tensor and _same_memory(leaf, tensor)
    ]
    mine = {id(p) for p in case.model.parameters()} if case.model is not None else {id(tensor)}
    alike = [t for t in case.leaves() if t.shape == tensor.shape and id(t) not in mine]
    copied = []
    if alike:
        copied = [f"{case.name(alike[0])}, of the same shape, is used: was it copied or replaced?"]
    if case.history is None:
        for step in case.backward.steps.values() if case.backward else ():
            for kept in step.saved().values():
                constant = isinstance(kept, torch.Tensor) and not kept.requires_grad
                if constant and _same_memory(kept, tensor):
                    cause = "detach: afterwards"
                    return finding(name, "none", cause, (), "", also, step=step.name)
        return finding(name, "none", "unknown-cut", (), "", also + copied)
    on_the_way, left, used = case.history.lost_between(tensor, case.loss, case.backward)
    if on_the_way:
        first, *more = sorted(on_the_way, key=lambda pair: pair[1].cause in HARD_TO_AVOID)
        found = _cut(name, *first, also)
        seen = [where for _, where in found.places]
        places = {c.where: ("and at", c.where) for c, _ in more if c.where not in seen}
        return replace(found, places=(*found.places, *list(places.values())[:2]))
    if left:
        return _cut(name, *left[0], also, "probably here: ")
    new = [call for call in used if call.name not in ("backward", "grad", "requires_grad_")]
    whole = [call for call in new if not set(call.outputs) <= set(call.cuts)]
    if new and not whole:
        cut = next(iter(new[0].cuts.values()))
        return _cut(name, new[0], cut, also, "only this was ever made of it: ")
    if not whole:
        return finding(name, "none", "unused", (), "", also + copied)
    end = case.history.end_of(tensor).where
    return finding(name, "none", "dead-branch", (("ends at", end),), "", also)


def _same_memory(a, b):
    try:
        pointer = a.untyped_storage().data_ptr()
        return pointer != 0 and pointer == b.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without storage
        return False


def _of_result(case, found, tensor):
    """A result: autograd fills .grad of leaves only, whatever else may be wrong."""
    step = case.backward.steps.get(tensor.grad_fn) if case.backward else None
    places = case.place(step, "made at") if step else ()
    result = finding(found.name, "none", "not-a-leaf", places, found.node)
    if found.status in ("ok", "partial"):
        return result
    return replace(found, also=(result.sentence, *found.also))


# Zero, tiny, partial


def _zero(case, name, tensor, edge):
    origins = case.backward.origins(*edge, "lost")
    step = first_step(origins)
    if step is None:
        return _zero_sum(case, name, tensor, origins)
    places, also = (), []
    for leaf in case.leaves():  # is the factor that is zero a parameter?
        kept = [v for v in step.saved().values() if isinstance(v, torch.Tensor) and v.numel()]
        if leaf is not tensor and any(not v.any() and _same_memory(leaf, v) for v in kept):
            also = [f"that factor is {case.name(leaf)}"]
            places = (("set at", case.history and case.history.written_at(leaf)),)
    for other in origins[1:]:
        if isinstance(other, Step):
            cause, detail, names = reason(other, ZERO)
            line = "".join(f", at {where}" for _, where in case.place(other) if where)
            also.append(f"on another way: {detail}{words(cause, **names)[0]}{line}")
    node = f"died in {in_and_out(case, step)}"
    return because(case, name, "zero", step, ZERO, node, also, places)


def _zero_sum(case, name, tensor, origins):
    """No step let it die: it was zero from the start, a hook did it, or contributions cancel."""
    steps = origins[0].steps if origins else ()
    if len(steps) == 1:
        recording = case.history and case.history.recording
        states = recording.states(tensor) if recording else ()
        hooks = sorted(recording.hooks if recording else (), key=lambda hook: hook[0] not in states)
        places = tuple(("hook registered at", where) for _, where in hooks[:1])
        return finding(name, "zero", "hook", places)
    places = case.place(steps[0]) if steps else ()
    return finding(name, "zero", "cancel" if steps else "zero-start", places)


def _tiny(case, name, amount, way):
    """One large drop has the cause of a zero; many small ones have a cause of their own."""
    entered = sum(a.mass for a in case.backward.root.arriving if a)
    if amount.mass >= TINY * entered:
        return None
    ratios = {
        step: left.mass / arrived
        for step, left in way
        if (arrived := sum(a.mass for a in step.arriving if a)) > 0
        and step.operation not in ("Cat", "Stack")  # these hand on a part each
    }
    also = [f"the sum of |g| is {amount.mass:.1e}, and {entered:.1e} entered at the loss"]
    worst = min(ratios, key=ratios.get, default=None)
    if worst is not None and ratios[worst] < DROP:
        node = f"shrinks to {ratios[worst]:.1e} of it in {worst.name}"
        return because(case, name, "tiny", worst, ZERO, node, also)
    if amount.mass >= VANISHED * entered:
        return None
    shares: dict[str, tuple[float, int]] = {}
    for step, ratio in ratios.items():
        product, count = shares.get(step.name, (1.0, 0))
        shares[step.name] = product * ratio, count + 1
    first, *others = sorted(shares, key=lambda name: shares[name][0])[:2]
    parts = [f"{shares[n][1]} {n} together to {shares[n][0]:.0e}" for n in (first, *others)]
    step = next(step for step in ratios if step.name == first)
    return finding(
        name, "tiny", "shrinks", case.place(step), also=also, more=", ".join(parts)
    )  # fmt: skip


def _partial(case, name, amount, way):
    node = f"{amount} elements get a gradient"
    blockers = [step for step, _ in way if step.stopped or _loses(step)]
    if not blockers:
        return Finding(name, "partial", node=node)
    worst = max(blockers, key=lambda step: step.stopped)
    stops = f"{worst.stopped} elements stop in {worst.name}" if worst.stopped else worst.name
    return because(case, name, "partial", worst, ZERO, f"{node}; {stops}")


def _loses(step):
    whole = all(a.nonzero == a.total for a in step.arriving if a)
    return whole and any(a.nonzero < a.total for a in step.leaving if a)


# The loss, and a number that is not the one you want


def about_loss(case: Case, targets: dict, grad_outputs: torch.Tensor | None) -> list[Finding]:
    """What is to be said of the loss itself: no history, not one number, not finite."""
    loss = case.loss
    if loss.grad_fn is None:
        places = case.history.cuts_behind(loss) if case.history else []
        if loss.requires_grad:
            return [finding("loss", "none", "loss-is-leaf", places)]
        frozen = [(n, t) for n, t in targets.items() if case.history and not t.requires_grad]
        places = places or [
            (f"{name}, which requires no gradient, was made at", case.history.made_at(tensor))
            for name, tensor in frozen
        ]
        more = "no input requires a gradient, or the history was cut (detach, .data, .item(), " \
            "torch.tensor(...), no_grad, argmax, ...)"  # fmt: skip
        if loss.is_inference():
            more = "it was made in torch.inference_mode()"
        elif not (loss.is_floating_point() or loss.is_complex()):
            more = f"it is {loss.dtype}, and integers carry no gradient"
        return [finding("loss", "error", "no-history", places, more=more)]
    if loss.numel() != 1 and grad_outputs is None:
        place = case.place(case.backward.root, "made at")
        return [finding("loss", "error", "vector-loss", place, shape=str(tuple(loss.shape)))]
    if not bool(loss.isfinite().all()):
        status = "nan" if bool(loss.isnan().any()) else "inf"
        return [
            born_in_forward(case, "loss", status) or finding("loss", status, "forward-nonfinite")
        ]
    return []


def _of_old_gradient(case, found, leaf):
    """backward() adds: does .grad already hold a multiple of this very gradient?"""
    gradient = case.backward.grads[id(leaf)]
    there = gradient != 0
    if leaf.grad.is_sparse or gradient.is_sparse or gradient.is_complex() or not there.any():
        return found
    ratio = leaf.grad[there] / gradient[there]
    times = ratio.median().item()
    if times < 1.5 or not torch.allclose(ratio, torch.full_like(ratio, times), rtol=1e-3):
        return found
    calls = [c for c in case.history.calls if c.name == "backward"] if case.history else []
    places = (("backward at", calls[-1].where),) if calls else ()
    return finding(found.name, "wrong", "accumulated", places, found.node, more=f"{times:.3g}")
