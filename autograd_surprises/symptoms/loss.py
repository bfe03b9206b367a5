"""The loss itself: it has no history, is not one number, or is not finite."""

import torch

from autograd_surprises.symptoms.detached import RECORD
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.forward_rules import UNKNOWN_ORIGIN
from autograd_surprises.symptoms.rule import Rulebook
from autograd_surprises.symptoms.where_it_went import lost_behind

# Each of these stops backward(), or makes it useless.
LOSS = Rulebook()

LOSS_IS_LEAF = LOSS.add(
    "loss-is-leaf",
    "the loss is a leaf: requires_grad_() lets backward() run, but backward() reaches nothing. The "
    "history was cut earlier",
    "remove requires_grad_(), and repair the cut",
    "none.covered-up",
    when=lambda loss: loss.grad_fn is None and loss.requires_grad,
)

LOSS.add(
    "no-history/inference-mode",
    "the loss has no history, so backward() raises an error: it was made in torch.inference_mode()",
    "compute it outside inference_mode",
    "none.no-grad",
    when=lambda loss: loss.grad_fn is None and loss.is_inference(),
)

LOSS.add(
    "no-history/integer",
    "the loss has no history, so backward() raises an error: it is {dtype}, and integers have no "
    "gradient",
    "compute the loss in floating point, with operations that have a "
    "derivative{and_how_to_find_it}",
    "none.argmax",
    when=lambda loss: loss.grad_fn is None and not (loss.is_floating_point() or loss.is_complex()),
)

LOSS.add(
    "no-history/cut",
    "the loss has no history, so backward() raises an error: no input requires a gradient, or the "
    "history was cut (detach, .data, .item(), torch.tensor(...), no_grad, argmax, ...)",
    "repair the cut{and_how_to_find_it}",
    "none",
    when=lambda loss: loss.grad_fn is None,
)

VECTOR_LOSS = LOSS.add(
    "vector-loss",
    "the loss has the shape {shape} and is not one number, so backward() raises an error",
    "use loss.mean() or loss.sum(), or backward(v) and explain(..., grad_outputs=v)",
    "error.vector-loss",
    when=lambda loss: loss.numel() != 1,
)


def about_loss(
    exam: Examination, targets: dict, grad_outputs: torch.Tensor | None
) -> list[Finding]:
    """Findings about the loss itself: no history, not one number, not finite.

    >>> explain(torch.ones(2).sum())["loss"].rule
    'no-history/cut'
    """
    rule = LOSS.first(exam.loss)
    if rule is not None and (rule is not VECTOR_LOSS or grad_outputs is None):
        status = "none" if rule is LOSS_IS_LEAF else "error"
        how = "" if exam.recorded else f"; {RECORD}"
        found = rule.finding(exam.loss, shape=tuple(exam.loss.shape), and_how_to_find_it=how)
        return [found.about("loss", status, _lost_at(exam, targets))]
    if not bool(exam.loss.isfinite().all()):
        status = "nan" if bool(exam.loss.isnan().any()) else "inf"
        found = exam.first_nonfinite or UNKNOWN_ORIGIN.finding()
        return [found.about("loss", status, found.places)]
    return []


def _lost_at(exam, targets):
    """Where a loss lost its history or was made; otherwise, where frozen tensors were made."""
    if exam.backward is not None:
        return at(exam.backward.root, "made at")
    lost = lost_behind(exam.history, exam.history.recorder.states(exam.loss))
    if lost or exam.loss.requires_grad:
        return lost
    return [
        (f"{name}, which requires no gradient, was made at", exam.history.made_at(tensor))
        for name, tensor in targets.items()
        if not tensor.requires_grad
    ]
