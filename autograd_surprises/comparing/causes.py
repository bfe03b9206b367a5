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

    >>> Cause().slug
    ''
    """

    slug: str = ""
    sentence: str = ""


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
    both = found.in_a, found.in_b
    own = [{step.own: step.own_name for step in steps if step.is_users} for steps in both]
    if own[0].keys() == own[1].keys():
        return None
    if any(names and any(map(_computes, steps)) for names, steps in zip(own, both, strict=True)):
        return None
    in_a, in_b = (", ".join(names.values()) or "none" for names in own)
    return Cause("custom-backward", f"a custom backward: {in_a} in a, {in_b} in b")


def _computes(step):
    """Is it an operation of torch that does more than to arrange numbers?"""
    return not step.is_users and not traits_of(step.kind).arranges


# Where an operation has a kink: for what its node keeps, numbers that are equal to its input.
KINKS: dict[str, Callable[[dict], list]] = {
    "Clamp": lambda kept: [kept.get("min"), kept.get("max")],
    "ClampMin": lambda kept: [kept.get("min")],
    "ClampMax": lambda kept: [kept.get("max")],
    "Hardtanh": lambda kept: [kept.get("min_val"), kept.get("max_val")],
    "Threshold": lambda kept: [kept.get("threshold")],
    "Maximum": lambda kept: [kept.get("other")],
    "Minimum": lambda kept: [kept.get("other")],
    **dict.fromkeys(("Relu", "LeakyRelu", "Abs"), lambda kept: [0.0]),
    **dict.fromkeys(("Hardsigmoid", "Hardswish"), lambda kept: [-3.0, 3.0]),
}
# Of all elements, or along dimensions.
EXTREMES = {"Max": torch.amax, "Amax": torch.amax, "Min": torch.amin, "Amin": torch.amin}
TIES = {*EXTREMES, "Maximum", "Minimum"}


def _at_kink(found, inputs):
    """Do the elements that differ all lie on a kink of an operation of one of both?"""
    mine, theirs, floor = found.after
    if found.kind in ("shape", "hook") or (mine is None and theirs is None):
        return None
    differ = difference(mine, theirs).abs() > TIMES * floor.largest
    for step in (*found.in_a, *found.in_b):
        kink = _kink(step, inputs)
        if kink is None or kink.shape != differ.shape or not differ.any():
            continue
        if not (differ & ~kink).any():
            where = "in a tie" if step.kind in TIES else "on the kink"
            return Cause(
                "kink",
                f"{int(differ.sum())} of {differ.numel()} elements differ, and each lies exactly "
                f"{where} of {step.operation}, where a and b follow other conventions",
            )
    return None


def _kink(step, inputs):
    """Which elements of its input lie on a kink or in a tie; None if that is not known."""
    kept = step.saved
    x = inputs.get(step.node._sequence_nr(), kept.get("self"))
    if not isinstance(x, torch.Tensor):
        return None
    if step.kind in EXTREMES:
        # torch shows -1 as 2**64 - 1
        dims = [dim - 2**64 if dim >= 2**63 else dim for dim in kept.get("dim", ())]
        is_extreme = x == EXTREMES[step.kind](x, dims, keepdim=True)
        return is_extreme & (is_extreme.sum(dims, keepdim=True) > 1)
    points = KINKS[step.kind](kept) if step.kind in KINKS else []
    masks = [x == point for point in points if point is not None]
    return torch.stack(masks).any(0) if masks else None


def _by_kind(found):
    mine, theirs, _ = found.after
    name = found.in_a[0].operation if found.in_a else ""
    if found.kind == "hook":
        return Cause("hook", "a hook changed the gradient that arrives here")
    if found.kind == "shape":
        shapes = f"{tuple(mine.shape)} in a and {tuple(theirs.shape)} in b"
        return Cause("shape", f"the result of {name} has the shape {shapes}")
    if found.kind == "operation" and found.in_a[0].own is None:
        return Cause(
            "forward",
            f"the same gradient arrives at {name} in both, and another one leaves, so the forward "
            "pass gave it other numbers or arguments",
        )
    if found.kind == "graph":
        in_a, in_b = (
            listed([each.operation for each in steps], most=6) or "nothing"
            for steps in (found.in_a, found.in_b)
        )
        return Cause("operations", f"other operations: {in_a} in a, {in_b} in b")
    return Cause()
