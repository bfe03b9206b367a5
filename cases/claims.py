"""Are the doctor's claims true? Decided by plain torch, on the same step."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy
import torch

from autograd_surprises.doctor import diagnosis
from autograd_surprises.symptoms.examination import Examination

HALF = 0.5  # of the zeros of a gradient have to vanish where the blamed step passes noise instead
GROWS = 100  # times as large a tiny gradient has to become where the blamed step passes noise


def seed() -> None:
    """The same random numbers again, of everybody."""
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)


@contextmanager
def noting_blame() -> Iterator[dict[str, object]]:
    """Notes, for each tensor judged while this is active, which step of backward is blamed."""
    why, finding_about = Examination.why, diagnosis.finding_about
    asked, blamed, known = [], {}, {}

    def noted_why(exam, step, *args, **kwargs):
        asked.append(step)
        return why(exam, step, *args, **kwargs)

    def noted_finding(exam, name, tensor):
        asked.clear()
        found = finding_about(exam, name, tensor)
        key = found.status, found.sentence, found.places
        if asked and found.cause:
            known[key] = asked[0]
        if key in known:  # another tensor may have had the same finding, searched once
            blamed[name] = known[key]
        return found

    Examination.why, diagnosis.finding_about = noted_why, noted_finding
    try:
        yield blamed
    finally:
        Examination.why, diagnosis.finding_about = why, finding_about


def untrue(report, loss: torch.Tensor, step, blamed: dict) -> list[str]:
    """What is untrue in a report about the model of a step, one text for each finding."""
    tensors = dict(step.model.named_parameters())
    asked = {name: tensor for name, tensor in tensors.items() if tensor.requires_grad}
    grads = _gradients(loss, asked)
    return [
        f"{found.status.upper()} {found.name}, {found.cause or 'no cause'}: {wrong}"
        for found in report.findings
        if found.name in tensors and (wrong := _wrong(found, loss, step, tensors, grads, blamed))
    ]


def _gradients(loss, tensors):
    """What backward() leaves in .grad, the only way that works with a reentrant checkpoint."""
    for tensor in tensors.values():
        tensor.grad = None
    loss.backward(torch.ones_like(loss), retain_graph=True)
    return {name: tensor.grad for name, tensor in tensors.items()}


STATUS: dict[str, Callable[[torch.Tensor | None], bool]] = {
    "none": lambda g: g is None,
    "zero": lambda g: g is not None and not g.any(),
    "partial": lambda g: g is not None and bool((g == 0).any()) and bool(g.any()),
    "tiny": lambda g: g is not None and bool(g.any()),
    "nan": lambda g: g is not None and bool(g.isnan().any()),
    "inf": lambda g: g is not None and bool(g.isinf().any()),
    "ok": lambda g: g is not None and bool(g.isfinite().all()),
}


def _is_small(gradient, grads):
    """Is it not exactly 0, but a ten-thousandth of the largest gradient at most?"""
    largest = max(float(g.to_dense().abs().max()) for g in grads.values() if g is not None)
    return bool(gradient.any()) and float(gradient.abs().max()) <= 1e-4 * largest


def _wrong(found, loss, training, tensors, grads, blamed):
    """Why this finding is untrue, or "" if it is not known to be."""
    gradient = grads.get(found.name)
    gradient = None if gradient is None else gradient.to_dense() if gradient.is_sparse else gradient
    rounding = found.status == "zero" and found.node.endswith("rounding")
    if rounding and not _is_small(gradient, grads):
        return "that is not rounding"
    if not rounding and found.status in STATUS and not STATUS[found.status](gradient):
        return "that is not its gradient"
    if found.rule == "cancel/before-normalisation":
        same = _may_be_shifted(training, tensors[found.name])
        return "" if same else "the loss changes when it is shifted"
    step = blamed.get(found.name)
    if step is None or not found.cause or found.status not in ("partial", "zero", "tiny"):
        return ""
    changed = _with_noise(loss, tensors[found.name], step, everywhere=found.status == "tiny")
    if changed is None:
        return ""
    if found.status == "tiny":
        growth = float(changed.abs().sum() / gradient.abs().sum())
        return "" if growth >= GROWS else f"it grows {growth:.3g} times with noise after that step"
    zeros = gradient == 0
    vanished = float((changed[zeros] != 0).float().mean())
    return "" if vanished >= HALF else f"{vanished:.0%} of its zeros vanish with noise there"


def _may_be_shifted(training, tensor):
    """Does the loss stay the same when the numbers of this parameter change?"""
    shift = 0.1 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0))
    losses, numbers = [], tensor.detach().clone()
    kept = [(buffer, buffer.clone()) for buffer in training.model.buffers()]
    for change in (0.0, shift):
        with torch.no_grad():
            tensor += change
            for buffer, value in kept:  # as the vectors of spectral_norm, which each step turns
                buffer.copy_(value)
        seed()
        losses.append(float(training.compute().detach().sum()))
    with torch.no_grad():
        tensor.copy_(numbers)
    return abs(losses[1] - losses[0]) <= 1e-4 * max(1.0, abs(losses[0]))


def _with_noise(loss, tensor, step, everywhere):
    """The gradient of the tensor if the step passed on noise where it passed on zeros.

    None if that cannot be tried: the graph cannot be walked twice, or the step passed on nothing.
    """
    generator, passed_on = torch.Generator().manual_seed(0), []

    def noisy(left, arrived):
        passed_on.extend(g for g in left if g is not None and g.numel())
        sizes = [g.abs().mean() for g in arrived if g is not None and g.numel()]
        size = torch.stack([s.float() for s in sizes]).max() if sizes else torch.tensor(1.0)
        return tuple(None if g is None else add_noise(g, size) for g in left)

    def add_noise(gradient, size):
        if gradient.layout is not torch.strided or not gradient.is_floating_point():
            return gradient
        noise = torch.randn(gradient.shape, generator=generator).to(gradient.dtype)
        noise = noise * (size if float(size) > 0 else 1.0)
        return torch.where(gradient == 0, noise, gradient) if not everywhere else noise

    handle = step.node.register_hook(noisy)
    try:
        (changed,) = torch.autograd.grad(loss, [tensor], retain_graph=True, allow_unused=True)
    except RuntimeError:
        return None
    finally:
        handle.remove()
    if not passed_on:
        return None
    return changed.to_dense() if changed is not None and changed.is_sparse else changed
