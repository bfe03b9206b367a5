"""The history was lost in the forward pass: a call of torch returned a result without one."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

from autograd_surprises.recording.places import TORCH_FOLDER, Where
from autograd_surprises.symptoms.rule import Rule, Rulebook

DECIDES = {"__bool__", "equal", "allclose", "is_nonzero"}
LEAVES_TORCH = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__"}
COPIES = {"tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor"}
RECORD = "record the forward pass: with trace() as t: loss = ...; then t.explain(loss, ...)"


@dataclass(frozen=True)
class Lost:
    """A result without history, though an input had one, and the call of torch that returned it.

    call          the name of the function
    dtype         of the result
    real          can its elements carry a gradient? Integers and booleans cannot
    inference     was it made in torch.inference_mode()?
    recording     was recording on?
    create_graph  torch.autograd.grad's argument
    caller        the code that called the function: of the user, a library or torch
    inside        the autograd.Function in whose forward it was made, by name
    around        the line that led to the call: that of apply, or in the function that had switched
                  recording off
    switched      the line that switched recording off

    >>> CUTS.first(Lost("tensor")).finding(Lost("tensor")).sentence
    'torch.tensor() copies the numbers into a new tensor, without their history'
    """

    call: str
    dtype: str = ""
    real: bool = True
    inference: bool = False
    recording: bool = True
    create_graph: bool = False
    caller: CodeType | None = None
    inside: str = ""
    around: Where | None = None
    switched: Where | None = None

    @property
    def decides(self) -> bool:
        """Did it only decide which branch the program takes?"""
        return self.call in DECIDES

    @property
    def leaves_torch(self) -> bool:
        return self.call in LEAVES_TORCH

    @property
    def operation(self) -> str:
        name = self.call.strip("_")
        return f"torch.{name}" if self.call in COPIES - {"new_tensor"} else name


def _called(*names: str):
    """Is it one of these functions?"""
    return lambda lost: lost.call in names


@dataclass(frozen=True, kw_only=True)
class CutRule(Rule):
    """A rule about a call of torch that returned a result without history.

    avoidable         if not, another cut behind the same tensor is blamed first
    names_the_switch  does it name the line that switched recording off?
    """

    avoidable: bool = True
    names_the_switch: bool = False


@dataclass(frozen=True)
class Cut:
    """A loss of history: the rule that fits, and the facts that fill in its sentence."""

    rule: CutRule
    lost: Lost

    @property
    def cause(self) -> str:
        return self.rule.cause


CUTS = Rulebook(CutRule)

REENTRANT_CHECKPOINT = CUTS.add(
    "reentrant-checkpoint/no-input",
    "checkpoint(..., use_reentrant=True) records nothing unless one of its inputs requires a "
    "gradient, and none does: the parameters inside do not count",
    "checkpoint(..., use_reentrant=False); or let its input require a gradient: x.requires_grad_()",
    "checkpoint.frozen",
    when=lambda lost: lost.inside == "CheckpointFunction",
)

CUTS.add(
    "inside-function",
    "computed in {inside}.forward, where recording is off, and no argument of {inside}.apply "
    "requires a gradient",
    "pass what needs a gradient to .apply()",
    "function.inputs",
    when=lambda lost: lost.inside != "",
)


def _in_deepcopy(lost: Lost) -> bool:
    """Parameter.__deepcopy__ uses .data."""
    return "__deepcopy__" in (lost.call, lost.caller.co_name if lost.caller else "")


CUTS.add(
    "deepcopy",
    "copy.deepcopy() makes an independent tensor: no gradient of the copy reaches the original",
    "train the copy (build the optimizer from it); to compute with other weights, use "
    "torch.func.functional_call",
    when=_in_deepcopy,
    avoidable=False,
)

CUTS.add(
    "new-parameter/cut",
    "nn.Parameter(...) makes a new leaf of these numbers, without their history",
    "create the Parameter once, in __init__, and compute with it in forward",
    "parameter.fails",
    when=_called("Parameter"),
)

CUTS.add(
    "detach/call",
    ".detach() returns the same numbers without their history",
    "leave out .detach(), or detach only the copy that you log",
    "none.detached",
    when=_called("detach", "detach_"),
)

STRAIGHT_THROUGH = CutRule(
    "straight-through",
    "a straight-through estimator, as in z + (q - z).detach(): all of the gradient goes to z, and "
    "none to what q was made from",
    "to train that, too, give q itself a loss, such as F.mse_loss(q, z.detach())",
    "codebook.straight-through",
)

CUTS.add(
    "data",
    ".data returns the same numbers without their history, and autograd does not see what is "
    "written there",
    "use the tensor itself; for an update by hand, use torch.no_grad()",
    "none.covered-up",
    when=_called("data", "data_"),
)

CUTS.add(
    "copy",
    "{operation}() copies the numbers into a new tensor, without their history",
    "use torch.stack or torch.cat to join tensors, .clone() to copy one",
    "none.copied",
    when=_called(*COPIES),
)

CUTS.add(
    "branch",
    "it only decides which branch runs, and a decision has no derivative",
    "use torch.where, or a soft weight, instead of the if",
    when=lambda lost: lost.decides,
)

CUTS.add(
    "escape",
    "{operation}() takes the numbers out of torch, where autograd cannot follow them",
    "compute with torch's functions; take numbers out for logging only",
    "none.left-torch",
    when=lambda lost: lost.leaves_torch,
)

INFERENCE_MODE = CUTS.add(
    "inference-mode",
    "computed in torch.inference_mode(), where nothing is recorded",
    "move it out of inference_mode, or use its result as a constant",
    "none.no-grad",
    when=lambda lost: lost.inference,
)


def _by_a_distribution(lost: Lost) -> bool:
    """Was recording off for sample() of torch.distributions?"""
    file = lost.caller.co_filename if lost.caller else ""
    return not lost.recording and file.startswith(f"{TORCH_FOLDER}distributions")


CUTS.add(
    "no-grad/sample",
    "a sample is drawn while recording is off",
    "use rsample(), which lets the gradient through; if there is none, a score-function estimator",
    when=_by_a_distribution,
)

CUTS.add(
    "no-grad/computed",
    "computed while recording was off",
    "move the computation out of the part where recording is off",
    "none.no-grad",
    when=lambda lost: not lost.recording,
    names_the_switch=True,
)

CUTS.add(
    "constant-gradient",
    "this gradient has no history, despite create_graph=True. Either the function is linear there, "
    "or a Function on the path is once_differentiable or keeps tensors outside ctx",
    "write the backward of that Function in differentiable operations, with save_for_backward",
    "second.function",
    when=lambda lost: lost.call == "grad" and lost.create_graph,
)

CUTS.add(
    "no-create-graph",
    "torch.autograd.grad() without create_graph=True returns a gradient without history",
    "use torch.autograd.grad(..., create_graph=True)",
    "second.history",
    when=_called("grad"),
)

CUTS.add(
    "integer",
    "{operation}() returns {dtype}; integers and booleans have no gradient",
    "use a soft form: softmax weights for argmax, a sigmoid for a comparison",
    "none.argmax",
    when=lambda lost: not lost.real,
    avoidable=False,
)

CUTS.add(
    "no-derivative",
    "{operation}() has no derivative in PyTorch",
    "use a differentiable alternative: softmax weights for argmax, / for //, a soft histogram",
    "round.no-derivative",
    avoidable=False,
)
