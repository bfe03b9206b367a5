"""Why two backwards part, as far as it is proven on this very step."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from autograd_surprises.comparing.distance import TIMES, difference
from autograd_surprises.comparing.first_operation import FirstOperation
from autograd_surprises.operations import traits_of
from autograd_surprises.show.findings import listed


class Cause(NamedTuple):
    """A slug, or "" if the reason is not known, and the reason in words.

    >>> Cause("", "") == UNKNOWN
    True
    """

    slug: str
    sentence: str


UNKNOWN = Cause("", "")


def cause_of(found: FirstOperation, inputs: Mapping[int, torch.Tensor]) -> Cause:
    """Why the backwards part here.

    inputs  of operations whose node does not keep its input, by the number of the node

    >>> from autograd_surprises.comparing.distance import NOTHING
    >>> after = torch.ones(2), 2 * torch.ones(2), NOTHING
    >>> cause_of(FirstOperation("hook", (), (), after), {}).slug
    'hook'
    """
    return _custom(found) or _at_kink(found, inputs) or _by_kind(found)


def _custom(found):
    """Is a Function of the user's in one of both only, or another one, and no other with it?"""
    for steps in (found.in_a, found.in_b):
        if any(step.is_users for step in steps) and any(map(_computes, steps)):
            return None
    mine, theirs = (
        {step.own: step.own_name for step in steps if step.is_users}
        for steps in (found.in_a, found.in_b)
    )
    if mine.keys() == theirs.keys():
        return None
    only_a, only_b = (", ".join(names.values()) for names in (mine, theirs))
    if not theirs:
        return Cause("custom-backward", f"step b does without the custom backward of {only_a}")
    if not mine:
        return Cause("custom-backward", f"step b has a custom backward that a has not: {only_b}")
    return Cause("custom-backward", f"the custom backward is that of {only_a} in a, {only_b} in b")


def _computes(step):
    """Is it an operation of torch that does more than to arrange numbers?"""
    return not step.is_users and not traits_of(step.kind).arranges


# Where an operation has a kink: for the input x of a node, and what it keeps, numbers equal to x.
KINKS: dict[str, Callable[[torch.Tensor, dict], list]] = {
    "Clamp": lambda x, kept: [kept.get("min"), kept.get("max")],
    "ClampMin": lambda x, kept: [kept.get("min")],
    "ClampMax": lambda x, kept: [kept.get("max")],
    "Hardtanh": lambda x, kept: [kept.get("min_val"), kept.get("max_val")],
    "Threshold": lambda x, kept: [kept.get("threshold")],
    "Maximum": lambda x, kept: [kept.get("other")],
    "Minimum": lambda x, kept: [kept.get("other")],
    "Relu": lambda x, kept: [0.0],
    "LeakyRelu": lambda x, kept: [0.0],
    "Abs": lambda x, kept: [0.0],
    "Hardsigmoid": lambda x, kept: [-3.0, 3.0],
    "Hardswish": lambda x, kept: [-3.0, 3.0],
}
EXTREMES = {"Max", "Min", "Amax", "Amin"}  # of all elements, or along dimensions
TIES = {*EXTREMES, "Maximum", "Minimum"}


def _at_kink(found, inputs):
    """Do the elements that differ all lie on a kink of an operation of one of both?"""
    mine, theirs, floor = found.after
    if found.kind == "shape" or (mine is None and theirs is None):
        return None
    differ = difference(mine, theirs).abs() > TIMES * floor.largest
    count = int(differ.sum())
    for step in (*found.in_a, *found.in_b):
        kink = _kink(step, inputs)
        if kink is None or kink.shape != differ.shape or not count:
            continue
        if not bool((differ & ~kink).any()):
            where = "in a tie" if step.kind in TIES else "on the kink"
            return Cause(
                "kink",
                f"{count} of {differ.numel()} elements differ, and each lies exactly {where} of "
                f"{step.operation}, where a and b follow other conventions",
            )
    return None


def _kink(step, inputs):
    """Which elements of its input lie on a kink or in a tie; None if that is not known."""
    kept = step.saved
    x = inputs.get(step.node._sequence_nr(), kept.get("self"))
    if not isinstance(x, torch.Tensor):
        return None
    if step.kind in EXTREMES and isinstance(kept.get("result"), torch.Tensor):
        dims = [dim - 2**64 if dim >= 2**63 else dim for dim in kept.get("dim", ())]
        largest = kept["result"]
        if not kept.get("keepdim", True):
            for dim in sorted(dim % x.dim() for dim in dims):
                largest = largest.unsqueeze(dim)
        equal = x == largest
        return equal & ((equal.sum(dims, keepdim=True) if dims else equal.sum()) > 1)
    points = KINKS[step.kind](x, kept) if step.kind in KINKS else []
    masks = [x == point for point in points if point is not None]
    return torch.stack(masks).any(0) if masks else None


def _by_kind(found):
    (mine, theirs, _), step = found.after, found.in_a[:1]
    if found.kind == "hook":
        return Cause("hook", "the operations do the same: a hook changed the gradient behind them")
    if found.kind == "shape":
        shapes = f"{tuple(mine.shape)} in a and {tuple(theirs.shape)} in b"
        return Cause("shape", f"the result of {step[0].operation} has the shape {shapes}")
    if found.kind == "operation" and step[0].own is None:
        return Cause(
            "forward",
            f"the same gradient arrives at {step[0].operation} in both, and another one leaves, so "
            "the forward pass gave it other numbers or arguments",
        )
    if found.kind == "graph":
        names = [
            listed([each.operation for each in steps], most=6) or "nothing"
            for steps in (found.in_a, found.in_b)
        ]
        return Cause("operations", f"other operations: {names[0]} in a, {names[1]} in b")
    return UNKNOWN
