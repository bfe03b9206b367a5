"""The gradient of a tensor is None, and no recorded cut explains it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from autograd_surprises.symptoms.detached import INFERENCE_MODE, RECORD
from autograd_surprises.symptoms.rule import Rule, Rulebook


@dataclass(frozen=True)
class TensorFacts:
    """A tensor that no gradient reaches.

    is_buffer    of the model
    recorded     was the forward pass recorded?
    is_used      did a recorded call compute something from it?
    is_copied    did such calls only return numbers without history?
    constant_of  the name of a step that keeps its numbers as a constant, or ""
    derivative_only  does the loss use only the derivative of what was computed from it?
    in_library   was the last thing that was computed from it a library's?
    on_purpose   frozen, as a part of a model may be: others beside it are trained
    picked       frozen, and the optimizer holds it, but not others beside it that are frozen, too

    >>> UNREACHED.first(TensorFacts(torch.ones(2), recorded=True, is_used=False)).cause
    'unused'
    """

    tensor: torch.Tensor
    is_buffer: bool = False
    recorded: bool = False
    is_used: bool = False
    is_copied: bool = False
    constant_of: str = ""
    derivative_only: bool = False
    in_library: bool = False
    on_purpose: bool = False
    picked: bool = False

    @property
    def inference(self) -> bool:
        return self.tensor.is_inference()

    @property
    def is_integer(self) -> bool:
        return not (self.tensor.is_floating_point() or self.tensor.is_complex())

    @property
    def dtype(self) -> torch.dtype:
        return self.tensor.dtype


# It does not require a gradient.
UNTRACKED = Rulebook(Rule, INFERENCE_MODE)

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
    "it is frozen, but the optimizer holds it, and does not hold others beside it that are frozen, "
    "too: probably a later call froze it together with them",
    "call .requires_grad_() on it, or freeze the others before you add it",
    "none.frozen",
    when=lambda facts: facts.picked,
)

UNTRACKED.add(
    "frozen/integer",
    "requires_grad is False, so autograd does not track it; it is {dtype}, and integers have no "
    "gradient",
    "call .float(), then .requires_grad_(), before the forward pass",
    "leaf.which",
    when=lambda facts: facts.is_integer,
)

UNTRACKED.add(
    "frozen/flag",
    "requires_grad is False, so autograd does not track it",
    "call .requires_grad_() on it before the forward pass",
    "none.frozen",
)

# It requires a gradient, and no path in the graph leads to it from the loss.
UNREACHED = Rulebook(Rule)

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
    when=lambda facts: not facts.recorded,
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
    "only copies of its numbers were used (detach, no_grad, deepcopy, a log), and from a copy no "
    "gradient flows back",
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
    "it is a non-leaf, the result of an operation, and by default autograd fills .grad of leaves "
    "only",
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
