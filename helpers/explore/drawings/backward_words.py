"""The steps of a backward in words and numbers."""

import torch

from autograd_surprises.backward.local_derivatives import elementwise
from autograd_surprises.numerics import few_digits
from helpers.explore.drawings.backward_steps import BackwardSteps, Stop, Way

LONG = 22  # characters, after which a line is broken
MOST_OF_J = 12  # numbers of a Jacobian that is written out
NO_DERIVATIVE = {  # by why_none of a way
    "": "Backward returns no gradient",
    "not linear": "This is no multiple of what arrives",
    "not finite": "Infinity or NaN hides the local derivative",
    "changes": "Run again, it sends something else: maybe a hook, or random numbers",
}


def numbers(tensor: torch.Tensor | None) -> str:
    """The numbers of a tensor, with few digits.

    >>> numbers(torch.tensor([1.0, 2 / 3])), numbers(torch.tensor(2.0)), numbers(None)
    ('[1, 0.6667]', '2', 'None')
    """
    if tensor is None:
        return "None"
    if tensor.dim():
        return f"[{', '.join(map(numbers, tensor))}]"
    number = tensor.item()
    return str(number) if isinstance(number, bool) else few_digits(number, 4)


def title(stop: Stop) -> str:
    """What a stop is called: the variable if it has a name."""
    return stop.name or stop.made_by


def local_derivative(way: Way, upstream: torch.Tensor) -> str:
    """What is done to the upstream gradient: "× 3", or what kind of product it is.

    >>> double = Way(0, 1, torch.ones(2), torch.tensor([[2.0, 0.0], [0.0, 2.0]]))
    >>> double.gradient = torch.ones(2)
    >>> local_derivative(double, torch.ones(2))
    '× [2, 2]'
    """
    if way.jacobian is None:
        return ""
    diagonal = elementwise(way.jacobian)
    if diagonal is None and len(way.jacobian) == 1:
        diagonal = way.jacobian
    if diagonal is not None:
        return f"× {numbers(diagonal.reshape(way.gradient.shape))}"
    if way.jacobian.shape[1] == 1:
        return f"· {numbers(way.jacobian.reshape(upstream.shape))}"
    return "@ J"


def passed_on(way: Way, upstream: torch.Tensor) -> str:
    """What backward sends along: the local derivative, and the product.

    >>> half = Way(0, 1, torch.ones(()), torch.tensor([[0.5]]), gradient=torch.tensor(2.0))
    >>> passed_on(half, torch.tensor(4.0))
    '× 0.5 = 2'
    """
    local = local_derivative(way, upstream)
    return f"{local} = {numbers(way.gradient)}" if local else numbers(way.gradient)


def product(way: Way, upstream: torch.Tensor) -> str:
    """The whole product: what arrives, the local derivative, and what is sent along.

    >>> half = Way(0, 1, torch.ones(()), torch.tensor([[0.5]]), gradient=torch.tensor(2.0))
    >>> product(half, torch.tensor(4.0))
    '4 × 0.5 = 2'
    """
    sent = passed_on(way, upstream)
    return sent if way.jacobian is None else f"{numbers(upstream)} {sent}"


def arrives(stop: Stop) -> str:
    """What arrives at a stop: a sum where several ways meet.

    >>> one = torch.tensor(1.0)
    >>> arrives(Stop("leaf", "leaf", parts=[one, one], upstream=2 * one))
    '1 + 1 = 2'
    """
    if not stop.parts:
        return numbers(stop.upstream)
    total = sum(stop.parts)
    terms = " + ".join([numbers(stop.parts[0]), *map(_added, stop.parts[1:])])
    text = f"{terms} = {numbers(total)}" if len(stop.parts) > 1 else numbers(total)
    changed = stop.upstream.shape == total.shape and not torch.equal(
        stop.upstream.nan_to_num(), total.nan_to_num()
    )
    return f"{text}, by a hook {numbers(stop.upstream)}" if changed else text


def _added(part):
    text = numbers(part)
    return f"({text})" if text.startswith("-") else text


def in_grad(stop: Stop, filled: bool) -> str:
    """What a leaf's .grad holds, before or after backward fills it.

    >>> in_grad(Stop("leaf", "leaf", before=torch.tensor(6.0)), filled=False)
    '6'
    """
    if not filled or stop.upstream is None:
        return numbers(stop.before)
    if stop.before is None:
        return arrives(stop)
    both = numbers(stop.before + stop.upstream)
    return f"{numbers(stop.before)} + {_added(stop.upstream)} = {both}"


def is_dead(way: Way) -> bool:
    """Does nothing but zeros go along this way?"""
    return way.gradient is None or not way.gradient.any()


def explanation(steps: BackwardSteps, step: int) -> str:
    """What happens at this step of backward; 0 is the forward pass.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> explanation(BackwardSteps(lambda: 3 * w, {"w": w}), 1)
    'MulBackward0 gets the upstream gradient 1. For w: 1 × 3 = 3'
    """
    if step == 0:
        return "the forward pass: each ↑ is a result. Backward begins with step 1"
    stop = steps.order[step - 1]
    if stop.kind == "leaf":
        how = (
            "is filled"
            if stop.before is None
            else f"holds {numbers(stop.before)}, and backward adds"
        )
        return f"{title(stop)}.grad {how}: {in_grad(stop, filled=True)}"
    position = steps.stops.index(stop)
    products, ends = [], []
    for way in (way for way in steps.ways if way.upper == position):
        below = steps.stops[way.lower]
        if below.kind == "cut":
            ends.append(f"No gradient goes through {below.made_by}: {below.why}")
        elif below.kind != "data":
            products.append(f"For {title(below)}: {product(way, stop.upstream)}")
            ends += _remarks(way, stop)
    arrived = f"{title(stop)} gets the upstream gradient {arrives(stop)}"
    return ". ".join([arrived, *products, *ends])


def _remarks(way, stop):
    if way.jacobian is None:
        return [NO_DERIVATIVE[way.why_none]]
    if not way.jacobian.any() and stop.upstream.any():
        return ["The local derivative is 0: nothing of it is left"]
    if elementwise(way.jacobian) is None and min(way.jacobian.shape) > 1:
        rows, columns = way.jacobian.shape
        short = way.jacobian.numel() <= MOST_OF_J
        text = f"J = {numbers(way.jacobian)}" if short else f"J is {rows} × {columns}"
        return [f"@ J is a vector-Jacobian product: {text}"]
    return []


def seen(steps: BackwardSteps, step: int) -> str:
    """The numbers on all arrows, and in .grad, after this step.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> seen(BackwardSteps(lambda: 3 * w, {"w": w}), 1)
    'MulBackward0 ↑ 6 ↓ 1; MulBackward0 → w ↑ 2 ↓ × 3 = 3; w.grad = None'
    """
    entered = f" ↓ {numbers(steps.v)}" if step else ""
    texts = [f"{title(steps.stops[0])} ↑ {numbers(steps.loss)}{entered}"]
    for way in steps.ways:
        upper, lower = steps.stops[way.upper], steps.stops[way.lower]
        text = f"{title(upper)} → {title(lower)} ↑ {numbers(way.value)}"
        if is_done(upper, step) and lower.kind in ("operation", "leaf"):
            text += f" ↓ {passed_on(way, upper.upstream)}"
        texts.append(text)
    for stop in steps.stops:
        if stop.keeps:
            texts.append(f"{title(stop)}.grad = {in_grad(stop, is_done(stop, step))}")
    return "; ".join(texts)


def is_done(stop: Stop, step: int) -> bool:
    """Has backward been there after this step?

    >>> is_done(Stop("leaf", "leaf", turn=1), 2), is_done(Stop("leaf", "leaf"), 2)
    (True, False)
    """
    return stop.turn is not None and stop.turn < step
