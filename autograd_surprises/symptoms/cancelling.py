"""The gradient of a bias or a scale is 0, or nearly 0, because its contributions cancel."""

from itertools import islice

import torch

from autograd_surprises.backward.noise import TRIES, arriving_at
from autograd_surprises.backward.steps import BackwardStep, GradientSize, size_of
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.examination import NEAR, Examination
from autograd_surprises.symptoms.factors import added_at
from autograd_surprises.symptoms.rule import Rule

ANY_LOSS, THIS_LOSS = "whatever the loss is", "for this loss"
LAST_DIGITS = 100  # rounding errors that may add up in a sum of contributions that cancel

BEFORE_NORMALISATION = Rule(
    "cancel/before-normalisation",
    "its contributions cancel, up to rounding, when they are added: adding a constant here changes "
    "nothing, as for a bias before BatchNorm, or a bias of the keys in attention",
    "do nothing, or leave out this bias",
    when=lambda facts: facts.cancels == ANY_LOSS,
    alarm=False,
)

BALANCED = Rule(
    "cancel/balanced",
    "its contributions cancel, up to rounding, when they are added: at these values, the loss does "
    "not depend on it to first order",
    "do nothing if another tensor of the same layer gets a gradient",
    when=lambda facts: facts.cancels == THIS_LOSS,
    alarm=False,
)


def cancelling_shift(gradient: Gradient, step: BackwardStep) -> str:
    """ANY_LOSS or THIS_LOSS, if a tensor is added in many places, and their gradients cancel.

    They may cancel whatever the loss is, because of a normalisation above, or only here. "" if
    those of other tensors cancel, too.

    >>> weight, bias = (torch.ones(1, requires_grad=True) for _ in range(2))
    >>> loss = (torch.tensor([1.0, 2.0]) * weight + bias).softmax(0)[0]
    >>> explain(loss, {"bias": bias})["bias"].rule
    'cancel/before-normalisation'
    """
    exam, k, (arrived, *more) = gradient.exam, added_at(step, gradient.edge[0]), step.arriving
    if k is None or not arrived or any(more) or step.leaving[k].total >= arrived.total:
        return ""
    _, dtype, _ = exam.backward.like[step.node, 0]
    if not _cancels(step.leaving[k], arrived, dtype) or not others_get_more(exam, step, k):
        return ""
    above = [s for s, _, _ in islice(exam.backward.main_way(step.node, 0), NEAR)]
    for normalising in [s for s in above if traits_of(s.kind).ignores_a_shift][:TRIES]:
        starts = arriving_at(normalising)
        arrived = gradient.if_sent(starts, (step.node, 0))
        added = gradient.if_sent(starts)
        if arrived is None or added is None:
            break
        if _cancels(size_of(added), size_of(arrived), arrived.dtype):
            return ANY_LOSS
    return THIS_LOSS


def is_cancelling_scale(gradient: Gradient, step: BackwardStep) -> bool:
    """Is it the weight of a normalisation, and do the parts of its gradient cancel?"""
    exam, edge = gradient.exam, gradient.edge
    if not traits_of(step.kind).normalises or edge not in step.edges or not step.arriving[0]:
        return False
    _, dtype, _ = exam.backward.like[step.node, 0]
    k = step.edges.index(edge)
    return _cancels(step.leaving[k], step.arriving[0], dtype) and others_get_more(exam, step, k)


def others_get_more(exam: Examination, step: BackwardStep, k: int) -> bool:
    """Do other tensors get a gradient from this step; or elsewhere, if it only adds a constant?"""
    others = [size for i, size in enumerate(step.leaving) if size and i != k]
    others = others or [arrived.size for arrived in exam.backward.grads.values()]
    return any(size.nonzero for size in others if size is not step.leaving[k])


def _cancels(total: GradientSize, contributions: GradientSize, dtype: torch.dtype) -> bool:
    return total.l1 <= LAST_DIGITS * torch.finfo(dtype).eps * contributions.l1


def is_rounding(share: float, like: tuple | None) -> bool:
    """Is what is left of a gradient so small a share that it may be rounding errors alone?

    >>> is_rounding(1e-7, (2, torch.float32, "cpu")), is_rounding(1e-3, (2, torch.float32, "cpu"))
    (True, False)
    """
    return like is not None and share <= LAST_DIGITS * torch.finfo(like[1]).eps
