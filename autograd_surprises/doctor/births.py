"""Where inf and NaN of the forward pass came from."""

from __future__ import annotations

from dataclasses import replace

import torch

from autograd_surprises.doctor.backward import Backward
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.history import History
from autograd_surprises.doctor.rules.nonfinite import (
    FORWARD,
    UNKNOWN_OPERATION,
    UNKNOWN_ORIGIN,
    Birth,
)

RESULTS = {"result", "output"}  # torch's names for the results that a node saves


def born_in_forward(
    loss: torch.Tensor, backward: Backward | None, history: History
) -> Finding | None:
    """The finding, if inf or NaN appeared in the forward pass.

    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> loss = (x.log() * x).sum()
    >>> born_in_forward(loss, Backward(loss.grad_fn), History()).cause
    'infinite-derivative'
    """
    made = history.spoiled_before(loss, backward)
    if made is not None:
        return _made_by(kind_made_by(made.name), made.where)
    steps = backward.steps if backward else {}
    operations = [step for node, step in steps.items() if not hasattr(node, "variable")]
    for step in sorted(operations, key=lambda step: step.node._sequence_nr()):
        bad = [name for name, kept in step.tensors().items() if not bool(kept.isfinite().all())]
        if bad:
            maker = step if RESULTS.intersection(bad) else _maker(steps, step)
            if maker is None:
                return UNKNOWN_ORIGIN.finding()
            found = _made_by(maker.kind, maker.where)
            kept = maker.tensors().get("self")  # else inf or NaN may only have come through it
            proven = kept is not None and bool(kept.isfinite().all())
            if proven or "probably" in found.sentence:
                return found
            return replace(found, sentence=f"probably {found.sentence}")
    return None


def _made_by(kind, where):
    birth = Birth(kind)
    return FORWARD.first(birth).finding(birth).about("", "", (("forward, at", where),))


def _maker(steps, step):
    """The nearest known maker of inf or NaN below; steps that save nothing are skipped."""
    below = [steps.get(node) for node, _ in step.edges]
    while below:
        maker = below.pop(0)
        if maker is not None and FORWARD.first(maker) is not UNKNOWN_OPERATION:
            return maker
        if maker is not None and not maker.tensors():
            below += [steps.get(node) for node, _ in maker.edges]
    return None


def kind_made_by(function: str) -> str:
    """The kind of the graph node that a function of torch makes.

    >>> kind_made_by("log_softmax"), kind_made_by("__truediv__")
    ('LogSoftmax', 'Div')
    """
    kind = "".join(part.capitalize() for part in function.strip("_").split("_"))
    aliases = {"Truediv": "Div", "Rtruediv": "Div", "Divide": "Div", "VectorNorm": "Norm"}
    return aliases.get(kind, kind)
