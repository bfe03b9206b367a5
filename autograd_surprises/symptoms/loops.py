"""What is wrong with a training loop, though each backward does what it should."""

from collections.abc import Mapping, Sequence

import torch
from torch.nn.parallel import DistributedDataParallel

from autograd_surprises.recording.modules import living
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.rule import Rule

STAYS_IN_EVAL_MODE = Rule(
    "left-in-eval-mode",
    "{name} trained in training mode at first, and in eval mode since step {step}: dropout "
    "does nothing, and BatchNorm keeps its running statistics",
    "call {name}.train() after each validation, or leave it in eval mode from the start if that "
    "is intended",
)

CLEARED_BATCHES = Rule(
    "cleared-batches",
    "in each of {steps} steps, what this line had given to .grad was cleared, and this line then "
    "ran again: step() used the gradients of the last batch only",
    "to accumulate several batches, call zero_grad() once for each step(), not for each backward()",
)

NEW_AND_NOT_HELD = Rule(
    "replaced-layer",
    "it gets a gradient, no optimizer holds it, and it was not there in the first step: probably "
    "a layer was replaced after the optimizer was built",
    "replace layers before you build the optimizer, or call optimizer.add_param_group(...)",
)

APART = (
    "rank 0 and rank {rank} had the same weights before step 1, and have different ones after "
    "step 2: their gradients are not averaged"
)
DIVERGED = Rule(
    "diverged/alone",
    APART,
    "wrap the model in DistributedDataParallel, unless different weights are intended",
)

DIVERGED_BESIDE_WRAPPER = Rule(
    "diverged/beside-the-wrapper",
    f"{APART}, though DistributedDataParallel is in use",
    "it averages what backward() computes through the output of the wrapper: "
    "call the wrapper and not its .module, use backward() and not torch.autograd.grad, and leave "
    "no_sync() for the last batch of a step",
)


def diverged(rank: int, apart: Sequence[torch.Tensor], names: Mapping[int, str]) -> Finding:
    """The finding about parameters that differ from those of a rank; names are by id.

    >>> diverged(1, [torch.ones(1)], {}).name
    'a parameter'
    """
    (wrapped,) = living(DistributedDataParallel)
    rule = DIVERGED_BESIDE_WRAPPER if wrapped else DIVERGED
    found = [names.get(id(parameter), "a parameter") for parameter in apart]
    return rule.finding(rank=rank).about(listed(found, most=3), "wrong")
