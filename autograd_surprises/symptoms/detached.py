"""The history was lost in the forward pass: a call of torch returned a result without one."""

from dataclasses import dataclass

import torch

from autograd_surprises.recording.forward_calls import COPIES, ForwardCall, LostHistory
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import TORCH_FOLDER, Where
from autograd_surprises.symptoms.rule import Rule, Rulebook

RECORD = "record the forward pass: with trace() as t: loss = ...; then t.explain(loss, ...)"


@dataclass(frozen=True)
class Detached:
    """A result that lost its history: the call, which state it is, and the rule that fits."""

    call: ForwardCall
    state: int
    rule: Rule

    @property
    def lost(self) -> LostHistory:
        return self.call.lost[self.state]

    @property
    def switched_off(self) -> Where | None:
        """Where recording was switched off, if that is the reason."""
        return self.lost.switched_off if self.rule is NO_GRAD else None

    @property
    def where(self) -> Where:
        """The line to blame: that of the call, or the one that led to it."""
        led_here = self.lost.led_here if self.switched_off else self.lost.applied_at
        return led_here or self.call.where


def detached(call: ForwardCall, state: int) -> Detached | None:
    """Why a call returned this state without history; None if it did not.

    >>> with trace() as t:
    ...     number = torch.ones(1, requires_grad=True).item()
    >>> call = t.calls[-1]
    >>> detached(call, call.outputs[0]).rule.cause
    'escape'
    """
    lost = call.lost.get(state)
    return None if lost is None else Detached(call, state, DETACHED.first(lost))


def detached_when_made(history: History, tensor: torch.Tensor) -> Detached | None:
    """Why the call that made this tensor returned it without history; None if it did not."""
    states = history.recorder.states(tensor)[:1]
    call = history.makers.get(states[0]) if states else None
    return call and detached(call, states[0])


DETACHED = Rulebook()
UNAVOIDABLE = {"deepcopy", "integer", "no-derivative"}  # another cause is blamed first

REENTRANT_CHECKPOINT = DETACHED.add(
    "reentrant-checkpoint/no-input",
    "checkpoint(..., use_reentrant=True) records nothing unless one of its inputs is a tensor that "
    "requires a gradient, and none does: the parameters inside do not count",
    "checkpoint(..., use_reentrant=False); or let its input require a gradient: x.requires_grad_()",
    "checkpoint.frozen",
    when=lambda lost: lost.inside == "CheckpointFunction",
)

DETACHED.add(
    "inside-function",
    "computed in {inside}.forward, where recording is off, and no argument of {inside}.apply "
    "requires a gradient",
    "pass what needs a gradient to .apply()",
    "function.inputs",
    when=lambda lost: lost.inside != "",
)

DETACHED.add(
    "deepcopy",
    "copy.deepcopy() makes an independent tensor: no gradient of the copy reaches the original",
    "train the copy (build the optimizer from it); to compute with other weights, use "
    "torch.func.functional_call",
    when=lambda lost: (
        "__deepcopy__" in (lost.call, lost.caller.co_name if lost.caller else "")  # it uses .data
    ),
)

DETACHED.add(
    "new-parameter/cut",
    "nn.Parameter(...) makes a new leaf of these numbers, without their history",
    "create the Parameter once, in __init__, and compute with it in forward",
    "parameter.fails",
    when=lambda lost: lost.call == "Parameter",
)


def _called_by(lost: LostHistory, folder: str) -> bool:
    return lost.caller is not None and lost.caller.co_filename.startswith(folder)


DETACHED.add(
    "detach/inside-torch",
    "a function of PyTorch that is called here returns the numbers without their history",
    "train what was made of these numbers, and build the optimizer from that",
    when=lambda lost: lost.call == "detach" and _called_by(lost, TORCH_FOLDER),
)

DETACHED.add(
    "detach/call",
    ".detach() returns the same numbers without their history",
    "leave out .detach(), or detach only the copy that you log",
    "none.detached",
    when=lambda lost: lost.call in ("detach", "detach_"),
)

STRAIGHT_THROUGH = Rule(
    "straight-through",
    "a straight-through estimator, as in z + (q - z).detach(): all of the gradient goes to z, and "
    "none to what q was made from",
    "to train that as well, give q itself a loss, such as F.mse_loss(q, z.detach())",
    "codebook.straight-through",
)

DETACHED.add(
    "data",
    ".data returns the same numbers without their history, and autograd does not see what is "
    "written there",
    "use the tensor itself; for an update by hand, use torch.no_grad()",
    "none.covered-up",
    when=lambda lost: lost.call in ("data", "data_"),
)

DETACHED.add(
    "copy",
    "{operation}() copies the numbers into a new tensor, without their history",
    "use torch.stack or torch.cat to join tensors, .clone() to copy one",
    "none.copied",
    when=lambda lost: lost.call in COPIES,
)

DETACHED.add(
    "branch",
    "it only decides which branch runs, and a decision has no derivative",
    "use torch.where, or a soft weight, instead of the if",
    when=lambda lost: lost.decides,
)

DETACHED.add(
    "escape",
    "{operation}() takes the numbers out of torch, where autograd cannot follow them",
    "compute with torch's functions; take numbers out only for logging",
    "none.left-torch",
    when=lambda lost: lost.leaves_torch,
)

INFERENCE_MODE = DETACHED.add(
    "inference-mode",
    "computed in torch.inference_mode(), where nothing is recorded",
    "move it out of inference_mode, or use its result as a constant",
    "none.no-grad",
    when=lambda lost: lost.inference,
)

DETACHED.add(
    "no-grad/sample",
    "a sample is drawn while recording is off",
    "use rsample(), which lets the gradient through; if there is none, a score-function estimator",
    when=lambda lost: not lost.recording and _called_by(lost, f"{TORCH_FOLDER}distributions"),
)

NO_GRAD = DETACHED.add(
    "no-grad/computed",
    "computed while recording was off",
    "move the computation out of the part where recording is off",
    "none.no-grad",
    when=lambda lost: not lost.recording,
)

DETACHED.add(
    "constant-gradient",
    "this gradient has no history, despite create_graph=True. Either the function is linear there, "
    "or the backward of a Function on the path is once_differentiable, leaves autograd, or uses "
    "what forward computed",
    "write the backward of that Function in differentiable operations of its saved inputs",
    "second.function",
    when=lambda lost: lost.call == "grad" and lost.create_graph,
)

DETACHED.add(
    "no-create-graph",
    "torch.autograd.grad() without create_graph=True returns a gradient without history",
    "use torch.autograd.grad(..., create_graph=True)",
    "second.history",
    when=lambda lost: lost.call == "grad",
)

DETACHED.add(
    "integer",
    "{operation}() returns {dtype}; integers and booleans have no gradient",
    "use a soft form: softmax weights for argmax, a sigmoid for a comparison",
    "none.argmax",
    when=lambda lost: not lost.real,
)

DETACHED.add(
    "no-derivative",
    "{operation}() has no derivative in PyTorch",
    "use a differentiable alternative: softmax weights for argmax, / for //, a soft histogram",
    "round.no-derivative",
)
