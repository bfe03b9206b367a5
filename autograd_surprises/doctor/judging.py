"""What happened to the gradient of each tensor, and why."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import torch

from autograd_surprises.doctor.backward import edge_of
from autograd_surprises.doctor.case import Case, because, first_step, in_and_out, memory
from autograd_surprises.doctor.causes import RECORD, words
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.nonfinite import born_in_forward, not_finite
from autograd_surprises.doctor.reasons import TINY, ZERO
from autograd_surprises.doctor.report import finding
from autograd_surprises.doctor.steps import Step, measure

TINY_MASS, DROP, VANISHED = 1e-5, 1e-3, 1e-9  # of what entered; in one step; in many steps
NEAR = 50  # steps above a tensor in which what blocks a part of its gradient is looked for


def judge(case: Case, name: str, tensor: torch.Tensor) -> Finding:
    """The finding for one tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> explain((w * 3).sum(), {"w": w})["w"].node
    '2 of 2 not 0'
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
    found = _tiny(case, name, amount, edge) if amount.mass < TINY_MASS * case.entered else None
    if found is None and amount.nonzero < amount.total:
        found = _partial(case, name, amount, edge)
    return found or Finding(name, "ok", node=f"{amount.in_words()} not 0")


# None


def _not_tracked(case, name, tensor):
    cut = case.history and case.history.cut_when_made(tensor)
    if cut:
        return _cut(name, *cut)
    if tensor.is_inference():
        return finding(name, "none", "inference-mode")
    if case.model is not None and any(tensor is buffer for buffer in case.model.buffers()):
        made = case.history and case.history.made_at(tensor)
        return finding(name, "none", "frozen: a buffer", (("made at", made),))
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
    also = []
    twin = case.leaves_by_memory.get(memory(tensor))
    if twin is not None and twin is not tensor:
        also.append(f"the graph holds another leaf with the same numbers, {case.name(twin)}: "
                    "probably .detach(), .data or nn.Parameter(...) made it")  # fmt: skip
    alike = case.leaves_by_shape.get(tuple(tensor.shape), ())
    alike = [leaf for leaf in alike if leaf is not tensor]
    if alike:
        replaced = f"{case.name(alike[0])}, of the same shape, is used: was it copied or replaced?"
    if case.history is None:
        step = case.steps_by_constant.get(memory(tensor))
        if step is not None:
            return finding(name, "none", "detach: afterwards", (), "", also, step=step.name)
        return finding(name, "none", "unknown-cut", (), "", also + [replaced] if alike else also)
    fate = case.history.fate(tensor, case.loss, case.backward)
    if fate.cut:
        (call, cut, _), *more = fate.cut
        found = _cut(name, call, cut, also)
        places = [("and at", other.where) for other, _, _ in more]
        seen = {where for _, where in found.places}
        return replace(found, places=(*found.places, *(p for p in places if p[1] not in seen)))
    if fate.left:
        return _cut(name, *fate.left[0][:2], also, "probably here: ")
    used = case.history.uses(tensor)
    if not used:
        return finding(name, "none", "unused", (), "", also + [replaced] if alike else also)
    if all(set(call.outputs) <= set(call.cuts) for call in used):
        cut = next(iter(used[0].cuts.values()))
        return _cut(name, used[0], cut, also, "only this was ever made of it: ")
    end = case.history.calls[fate.end].where
    return finding(name, "none", "dead-branch", (("ends at", end),), "", also)


def _of_result(case, found, tensor):
    """A result: autograd fills .grad of leaves only, whatever else may be wrong."""
    step = case.backward.steps.get(tensor.grad_fn) if case.backward else None
    places = case.place(step, "made at") if step else ()
    node = f"{found.node}, but not kept" if found.node else ""
    result = finding(found.name, "none", "not-a-leaf", places, node)
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
    for kept in step.tensors().values():  # is the factor that is zero a parameter?
        leaf = case.leaves_by_memory.get(memory(kept))
        if leaf is not None and leaf is not tensor and not kept.any():
            also = [f"that factor is `{case.name(leaf)}`"]
            places = (("set at", case.history and case.history.written_at(leaf)),)
    for other in origins[1:]:
        if isinstance(other, Step):
            cause, detail, names = case.reason(other, ZERO)
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
        places = tuple(("a hook was registered at", where) for _, where in hooks[:1])
        return finding(name, "zero", "hook", places, more="zeros")
    places = case.place(steps[0]) if steps else ()
    return finding(name, "zero", "cancel" if steps else "zero-start", places)


def _tiny(case, name, amount, edge):
    """One large drop, or many small ones. What two tensors have in common is judged once."""
    also = (f"the sum of |g| is {amount.mass:.1e}, and {case.entered:.1e} entered at the loss",)
    ratios = {}
    for step, left in case.backward.main_way(*edge):
        if step in case.tiny:
            return replace(case.tiny[step], name=name, also=also)
        arrived = sum(a.mass for a in step.arriving if a)
        if arrived > 0 and step.operation not in ("Cat", "Stack"):  # these hand on a part each
            ratios[step] = left.mass / arrived
    worst = min(ratios, key=ratios.get, default=None)
    if worst is not None and ratios[worst] < DROP:
        node = f"shrinks to {ratios[worst]:.1e} of it in {worst.name}"
        found = because(case, name, "tiny", worst, TINY, node, also)
        steps = list(ratios)
        case.tiny.update(dict.fromkeys(steps[: steps.index(worst) + 1], found))
        return found
    if amount.mass >= VANISHED * case.entered:
        return None
    shares: dict[str, tuple[float, int]] = {}
    for step, ratio in ratios.items():
        product, count = shares.get(step.name, (1.0, 0))
        shares[step.name] = product * ratio, count + 1
    first, *others = sorted(shares, key=lambda name: shares[name][0])[:2]
    parts = [f"{shares[n][1]} {n} together to {shares[n][0]:.0e}" for n in (first, *others)]
    step = next(step for step in ratios if step.name == first)
    found = finding(
        name, "tiny", "shrinks", case.place(step), also=also, more=", ".join(parts)
    )  # fmt: skip
    case.tiny.update(dict.fromkeys(ratios, found))
    return found


def _partial(case, name, amount, edge):
    node = f"{amount.in_words()} not 0"
    way = islice(case.backward.main_way(*edge), NEAR)
    blockers = [step for step, _ in way if step.stopped or _loses(step)]
    if not blockers:
        return Finding(name, "partial", node=node)
    worst = max(blockers, key=lambda step: step.stopped)
    stops = f"{worst.stopped} stop in {worst.name}" if worst.stopped else f"see {worst.name}"
    return because(case, name, "partial", worst, ZERO, f"{node}; {stops}")


def _loses(step):
    whole = all(a.nonzero == a.total for a in step.arriving if a)
    return whole and any(a.nonzero < a.total for a in step.leaving if a)


# The loss, and a number that is not the one you want


def about_loss(case: Case, targets: dict, grad_outputs: torch.Tensor | None) -> list[Finding]:
    """What is to be said of the loss itself: no history, not one number, not finite."""
    loss = case.loss
    if loss.grad_fn is None:
        places = case.history.cuts(case.history.behind(loss, None)) if case.history else []
        if loss.requires_grad:
            return [finding("loss", "none", "loss-is-leaf", places)]
        frozen = [(n, t) for n, t in targets.items() if case.history and not t.requires_grad]
        places = places or [
            (f"{name}, which requires no gradient, was made at", case.history.made_at(tensor))
            for name, tensor in frozen
        ]
        record = "" if case.history else f"; {RECORD}"
        more = "no input requires a gradient, or the history was cut (detach, .data, .item(), " \
            "torch.tensor(...), no_grad, argmax, ...)"  # fmt: skip
        if loss.is_inference():
            more = "it was made in torch.inference_mode()"
        elif not (loss.is_floating_point() or loss.is_complex()):
            more = f"it is {loss.dtype}, and integers carry no gradient"
        return [finding("loss", "error", "no-history", places, more=more, record=record)]
    if loss.numel() != 1 and grad_outputs is None:
        place = case.place(case.backward.root, "made at")
        return [finding("loss", "error", "vector-loss", place, shape=str(tuple(loss.shape)))]
    if not bool(loss.isfinite().all()):
        status = "nan" if bool(loss.isnan().any()) else "inf"
        born = born_in_forward(case, "loss", status)
        return [born or finding("loss", status, "forward-nonfinite", more="")]
    return []


def _of_old_gradient(case, found, leaf):
    """backward() adds: does .grad already hold this very gradient several times?"""
    old, gradient = leaf.grad, case.backward.grads[id(leaf)]
    if old.layout is not torch.strided or gradient.layout is not torch.strided:
        return found
    ratio = old[gradient != 0] / gradient[gradient != 0]
    if ratio.is_complex() or not ratio.numel() or not bool(ratio.isfinite().all()):
        return found
    times = round(ratio.median().item())  # a scaled loss gives far more
    if not 2 <= times <= 100 or not torch.allclose(ratio, torch.full_like(ratio, times), 1e-3):
        return found
    calls = [c for c in case.history.calls if c.name == "backward"] if case.history else []
    places = (("backward at", calls[-1].where),) if calls else ()
    return finding(found.name, "wrong", "accumulated", places, found.node, more=str(times))
