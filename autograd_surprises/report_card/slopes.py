"""Is the gradient the slope: that of like, or that of the value by finite differences?"""

import torch

from autograd_surprises.numerics import exact_digits, one_sided_slopes, partial_slopes
from autograd_surprises.report_card.example import flat, pattern, shaped
from autograd_surprises.report_card.subject import NO_GRID, Subject
from autograd_surprises.report_card.verdict import (
    SilentlyWrong,
    in_words,
    outside,
    require_between,
    size,
    yours_and_expected,
)

STEP = 4e-6  # of finite differences, at least
PASS_LIKE = (
    "repair the formula in backward; or, if this gradient is meant, pass like=, a function that "
    "has it"
)


def gradient_is_slope(subject: Subject) -> str | None:
    """On the grid, at kinks and one float beside them; or at the example.

    >>> gradient_is_slope(Subject(torch.relu, (torch.ones(2),)))
    """
    remedy = "" if subject.like else PASS_LIKE
    if subject.grid is None:
        _require_slope_of_example(subject, remedy)
        return f"at the example alone: fn {NO_GRID}"
    subject.require_float64()
    for dtype in (torch.float64, torch.float32):
        _require_slope_on_samples(subject, dtype, remedy)
    return None


def _require_slope_on_samples(subject, dtype, remedy):
    x, side, special = _where_to_look(subject, dtype)
    upstream = pattern(x)
    there = {"dtype": dtype, "device": subject.device}
    (yours,) = subject.gradients([x.to(**there)], upstream.to(**there))
    yours = yours.cpu().double()
    slopes = torch.stack(_right_slopes(subject, x, side, special, dtype)) * upstream
    low, high = slopes.amin(0), slopes.amax(0)
    wrong = outside(yours, low, high, _tolerance(subject, x, low, high, dtype))
    if not wrong.any():
        return
    only = "" if (wrong & ~special).any() else "only at kinks, "
    chosen = wrong if only else wrong & ~special
    texts = [exact_digits(number, dtype) for number in x.tolist()]
    first = min(chosen.nonzero().flatten().tolist(), key=lambda i: (len(texts[i]), abs(x[i])))
    where = f"{only}at x = {texts[first]}, grad_output = {exact_digits(upstream[first].item())}"
    name = "" if dtype == torch.float64 else f" ({in_words(dtype)})"
    numbers = yours_and_expected(yours[first], low[first], high[first])
    raise SilentlyWrong(where + name, *numbers, remedy)


def _where_to_look(subject, dtype):
    """x; on which side of a kink it is (0: on none, at it, or unclear); is it at or beside one?"""
    kinks = subject.samples.kinks.to(dtype).unique()
    # rounding inside fn moves a kink at 1/3 by some floats, and one at 3 by one or two
    sharp = (16 * kinks.double()).frac() == 0
    ordinary = subject.samples.ordinary if dtype == torch.float64 else subject.grid[:0]
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


def _right_slopes(subject, x, side, special, dtype):
    """Two or three slopes for each x: what lies between them is right."""
    info = torch.finfo(dtype)
    away = (8 * info.eps * x.abs()).clamp(min=info.tiny) * (special & (side == 0))
    if subject.like:
        return [subject.gradient_on(at.to(dtype), subject.like).double()
                for at in (x - away, x, x + away)]  # fmt: skip
    width = (x.abs() / 4).clamp(min=6)  # a longer step is less exact where the slope changes
    left = one_sided_slopes(subject.value_on, x - away, width)[0]
    right = one_sided_slopes(subject.value_on, x + away, width)[1]
    return [left.where(side <= 0, right), right.where(side >= 0, left)]


def _tolerance(subject, x, low, high, dtype):
    steepest = size(low, high)
    if subject.like:
        exact = dtype == torch.float64 and not subject.coarse
        return (1e-6 if exact else 1e-4) * (1 + steepest)
    # of y, divided by the step
    rounding = (1e-9 + subject.coarse / STEP) * size(subject.value_on(x))
    return 1e-4 * (1 + steepest) + rounding


def _require_slope_of_example(subject, remedy):
    for tensors in (subject.doubles(), [tensor.double() for tensor in subject.given]):
        low, high = _right_gradients(subject, tensors)
        yours = flat(subject.gradients(tensors))
        steepest = size(low, high)
        rounding = subject.coarse / STEP * size(flat([subject.call(tensors).detach()])).sum()
        tolerance = 1e-4 * (steepest + steepest.max()) + 1e-9 + 3 * rounding
        require_between(yours, low, high, tolerance, subject.at(tensors), remedy)


def _right_gradients(subject, tensors):
    """Between which numbers the gradients of these tensors are right, with upstream `pattern`."""
    vector = flat(tensors)
    if subject.like:
        nudge = 1e-9 * (1 + vector.abs())  # at a kink every slope is right
        points = (shaped(x, tensors) for x in (vector, vector - nudge, vector + nudge))
        grads = [flat(subject.gradients(point, None, subject.like)) for point in points]
        return torch.stack(grads).amin(0), torch.stack(grads).amax(0)

    def weighted(x):
        y = subject.call(shaped(x, tensors)).detach()
        return (y * pattern(y)).flatten()

    left, right = partial_slopes(weighted, vector)
    return torch.minimum(left, right).sum(1), torch.maximum(left, right).sum(1)
