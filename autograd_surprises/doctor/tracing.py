"""trace(): a recorder that explains what it recorded."""

from __future__ import annotations

import sys

import torch
from torch import nn

from autograd_surprises.doctor.diagnosis import Examined, examine
from autograd_surprises.doctor.errors import finding_of_error
from autograd_surprises.doctor.report import Report
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.symptoms.finding import Finding


class trace(Recorder):  # noqa: N801  a context manager, written like no_grad
    """Record a forward pass, so that explain() can name lines.

    It sees each call of torch from Python, in this thread, and keeps lines and numbers, no tensors.
    Inside the block, compiled code runs eagerly. Dropout then draws other numbers than in compiled
    code, so such a step differs from one without trace(). An error of autograd that
    leaves the block gets its cause, lines and fix as a note, and `.error` holds them.

    >>> with trace() as t:
    ...     w = torch.ones(2, requires_grad=True); loss = w.detach().sum()
    >>> t.explain(loss, {"w": w})["w"].cause
    'detach'
    """

    def __init__(self) -> None:
        super().__init__()
        self.error: Finding | None = None

    def __enter__(self) -> trace:
        super().__enter__()
        self.error = None
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        super().__exit__(kind, error, traceback)
        if isinstance(error, Exception):
            self.error = finding_of_error(error, History(self))
            if hasattr(error, "add_note") and self.error.cause != "unknown-error":  # Python 3.11
                error.add_note(f"\n{self.error}")

    def explain(
        self,
        loss: torch.Tensor,
        wrt: Examined = None,
        *,
        model: nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        grad_outputs: torch.Tensor | None = None,
    ) -> Report:
        """explain(), with the lines of this recording."""
        return examine(loss, wrt, model, optimizer, grad_outputs, self, sys._getframe(1))
