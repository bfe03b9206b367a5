"""Fast and exact pieces of a forward or backward.

A plainer spelling costs more time or memory.
"""

import functools

import torch

HARDTANH_BACKWARD = torch.ops.aten.hardtanh_backward.default
THRESHOLD_BACKWARD = torch.ops.aten.threshold_backward.default


def where_inside(g: torch.Tensor, x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """g where low < x < high, else 0. At NaN, where nothing has a slope, g or 0.

    An infinite bound does not limit x: infinity is inside. Uses torch's own kernels: `torch.where`
    with a mask takes 2 to 19 times as long, and g * mask is NaN where g is infinite.

    >>> where_inside(torch.tensor([3.0, 5.0]), torch.tensor([0.4, 1.0]), 0, 1)
    tensor([3., 0.])
    """
    if high == torch.inf:
        return THRESHOLD_BACKWARD(g, x, low)
    if low == -torch.inf:
        return THRESHOLD_BACKWARD(g, -x, -high)
    return HARDTANH_BACKWARD(g, x, low, high)


def where_within(
    g: torch.Tensor, x: torch.Tensor, low: float, high: float, at_bound: float = 1
) -> torch.Tensor:
    """g where low < x < high, at_bound · g where x is low or high, else 0.

    The bounds count as the dtype of x rounds them; infinite ones as in `where_inside`.

    >>> where_within(torch.tensor([3.0, 5.0]), torch.tensor([0.4, 1.0]), 0, 1)
    tensor([3., 5.])
    """
    inside, with_bounds = _intervals(low, high, x.dtype)
    if at_bound == 0:
        return where_inside(g, x, *inside)
    closed = where_inside(g, x, *with_bounds)
    if at_bound == 1:  # an infinite g times 0 would be NaN, so nothing is multiplied here
        return closed
    return closed.mul_(at_bound).add_(where_inside(g, x, *inside), alpha=1 - at_bound)


# The next two take 13 to 130 µs; for 1,000 numbers, the rest of such a backward takes 20. So they
# are computed once for each set of arguments.


@functools.lru_cache
def _intervals(low, high, dtype):
    """Two open intervals, without and with the bounds: as this dtype rounds them, and the numbers
    next to those. Beside 0 that is a subnormal number, or 0 if torch flushes those to 0.
    """
    bounds = torch.tensor([low, high], dtype=dtype)
    outwards = torch.tensor([-torch.inf, torch.inf], dtype=dtype)
    return bounds.tolist(), bounds.nextafter(outwards).tolist()


@functools.lru_cache
def ends_of_bins(
    scale: float, first: int, last: int, dtype: torch.dtype, device: torch.device
) -> tuple[float, float]:
    """The numbers next to all x for which first ≤ round(x / scale) ≤ last: below them, and above.

    In float32 at least, as `where_inside` compares x of half precision. Found by trial, because the
    division rounds, too.

    >>> ends_of_bins(0.5, -1, 1, torch.float32, torch.device("cpu"))  # 0.75 / 0.5 rounds to 2
    (-0.75, 0.75)
    """
    outwards = at_least_float32(torch.tensor([-torch.inf, torch.inf], dtype=dtype, device=device))
    ends = torch.tensor([first - 0.5, last + 0.5], dtype=torch.float64).mul(scale).to(outwards)

    def inside(x):
        bins = (x / scale).round()
        return (first <= bins) & (bins <= last)

    while inside(ends).any():
        ends = torch.where(inside(ends), ends.nextafter(outwards), ends)
    while not inside(nearer := ends.nextafter(-outwards)).all():
        ends = torch.where(inside(nearer), ends, nearer)
    return tuple(ends.tolist())


def sum_of_products(a: torch.Tensor, b: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """a · b, summed to a shape from which b was broadcast.

    >>> sum_of_products(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.Size([1]))
    tensor([11.])
    """
    if shape.numel() != 1 or a.numel() <= 2**17:
        return (a * b).sum_to_size(shape)
    # For ten million numbers, this is six times as fast as a tensor of products. In pieces, because
    # torch.dot of so many numbers is exact to only 3 digits.
    pieces = map(torch.dot, a.reshape(-1).split(2**17), b.reshape(-1).split(2**17))
    return sum(pieces).reshape(shape)


def divide(x: torch.Tensor, number: float) -> torch.Tensor:
    """x / number, without the time and memory that it takes even where the number is 1.

    >>> divide(torch.tensor(3.0), 2.0)
    tensor(1.5000)
    """
    return x if number == 1 else x / number


def at_least_float32(x: torch.Tensor) -> torch.Tensor:
    """x in float32 or float64: half precision has too few digits to compute with.

    >>> at_least_float32(torch.ones((), dtype=torch.float16)).dtype
    torch.float32
    """
    return x.float() if x.dtype.itemsize < 4 else x
