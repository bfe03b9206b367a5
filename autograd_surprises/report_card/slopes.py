"""The true slope: like's gradient, or finite differences of the value."""

from __future__ import annotations

import torch

from autograd_surprises.numerics import one_sided_slopes
from autograd_surprises.report_card.differences import flat, numeric_slopes
from autograd_surprises.report_card.points import slope_on, value_on
from autograd_surprises.report_card.subject import Subject, number, pattern
from autograd_surprises.report_card.verdict import Wrong, outside, require_between, size, span

PASS_LIKE = "if this gradient is meant, pass like=, a function that has it"


def slope(subject: Subject) -> str:
    """Is the gradient the slope, also at kinks and one float beside them?

    >>> slope(Subject(torch.relu, None, (torch.ones(2),), (0,)))
    ''
    """
    if subject.grid is None:
        _slope_of_example(subject)
        return "at the example: fn is not elementwise, so there are no kinks to look for"
    subject.doubles()
    remedy = "" if subject.like else PASS_LIKE
    for dtype in (torch.float64, torch.float32):
        _slope_on_points(subject, dtype, remedy)
    return ""


def _slope_on_points(subject, dtype, remedy):
    x, side, special = _where_to_look(subject, dtype)
    upstream = pattern(x)
    yours = subject.gradients(
        [x.to(dtype).to(subject.device)], upstream.to(dtype).to(subject.device)
    )
    yours = yours[0].cpu().double()
    slopes = torch.stack(_between(subject, x, side, special, dtype)) * upstream
    low, high = slopes.amin(0), slopes.amax(0)
    wrong = outside(yours, low, high, _tolerance(subject, x, low, high, dtype))
    if not wrong.any():
        return
    only = "" if (wrong & ~special).any() else "only at kinks, "
    chosen = wrong if only else wrong & ~special
    texts = [number(value, dtype) for value in x.tolist()]
    first = min(chosen.nonzero().flatten().tolist(), key=lambda i: (len(texts[i]), abs(x[i])))
    where = f"{only}at x = {texts[first]}, grad_output = {number(upstream[first].item())}"
    name = "" if dtype == torch.float64 else f" ({str(dtype)[6:]})"
    raise Wrong(where + name, *span(yours[first], low[first], high[first]), remedy)


def _where_to_look(subject, dtype):
    """x; on which side of a kink it is (0: on none, at it, or unclear); is it at or beside one?"""
    kinks = subject.points.kinks.to(dtype).unique()
    # rounding inside fn moves a kink at 1/3 by some floats, and one at 3 by one or two
    sharp = (16 * kinks.double()).frac() == 0
    ordinary = subject.points.ordinary if dtype == torch.float64 else subject.grid[:0]
    x, side = [ordinary, kinks.double()], [0 * ordinary, 0 * kinks.double()]
    for floats in (1, 4):
        for sign in (-1.0, 1.0):
            x.append(_beside(kinks, sign, floats).double())
            side.append(sign * (sharp & (floats > 1 or subject.like is not None)))
    x, side = torch.cat(x), torch.cat(side)
    special = torch.arange(len(x)) >= len(ordinary)
    x, order = x.sort()
    return x, side[order], special[order]


def _beside(kinks, sign, floats):
    beside = kinks
    for _ in range(floats):
        beside = beside.nextafter(torch.full_like(kinks, sign * torch.inf))
    # the neighbours of 0 are so small that some machines take them for 0
    return torch.where(kinks == 0, sign * floats * torch.finfo(kinks.dtype).tiny, beside)


def _between(subject, x, side, special, dtype):
    """Two or three slopes for each x: what lies between them is right."""
    info = torch.finfo(dtype)
    away = (8 * info.eps * x.abs()).clamp(min=info.tiny) * (special & (side == 0))
    if subject.like:
        return [slope_on(subject, at.to(dtype), subject.like).double()
                for at in (x - away, x, x + away)]  # fmt: skip
    value, width = lambda x: value_on(subject, x), x.abs().clamp(min=6)
    left = one_sided_slopes(value, x - away, width)[0]
    right = one_sided_slopes(value, x + away, width)[1]
    return [left.where(side <= 0, right), right.where(side >= 0, left)]


def _tolerance(subject, x, low, high, dtype):
    steepest = torch.maximum(size(low), size(high))
    if subject.like:
        return (1e-6 if dtype == torch.float64 else 1e-4) * (1 + steepest)
    noise = 1e-9 * size(value_on(subject, x))  # of y, divided by the step
    return 1e-4 * (1 + steepest) + noise


def _slope_of_example(subject):
    for tensors in (subject.doubles(), [tensor.double() for tensor in subject.example]):
        low, high = slopes_of(subject, tensors)
        yours = flat(subject.gradients(tensors))[0]
        steepest = torch.maximum(size(low), size(high))
        tolerance = 1e-4 * (steepest + steepest.max()) + 1e-9
        where = lambda index, tensors=tensors: subject.place(tensors, index)  # noqa: E731
        remedy = "" if subject.like else PASS_LIKE
        require_between(yours, low, high, tolerance, where, remedy)


def slopes_of(subject: Subject, tensors):
    """Between which numbers the gradients of these tensors are right, with upstream `pattern`."""
    vector, shaped = flat(tensors)
    if subject.like:
        nudge = 1e-9 * (1 + vector.abs())  # at a kink every slope is right
        points = (shaped(x) for x in (vector, vector - nudge, vector + nudge))
        grads = [flat(subject.gradients(point, None, subject.like))[0] for point in points]
        return torch.stack(grads).amin(0), torch.stack(grads).amax(0)

    def weighted(x):
        y = subject.call(shaped(x)).detach()
        return (y * pattern(y)).flatten()

    left, right = numeric_slopes(weighted, vector)
    return torch.minimum(left, right).sum(1), torch.maximum(left, right).sum(1)
