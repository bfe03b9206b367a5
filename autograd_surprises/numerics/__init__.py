"""Measuring functions by their values alone; every other part measures with these."""

from autograd_surprises.numerics.differences import (
    one_sided_slopes,
    partial_slopes,
    slope_and_limit,
    slope_rounding,
)
from autograd_surprises.numerics.elementwise import is_elementwise, same_numbers
from autograd_surprises.numerics.kinks import (
    even_grid,
    find_jumps,
    find_kinks,
    measure_curve,
    noise,
)
from autograd_surprises.numerics.number_text import (
    distinct_digits,
    exact_digits,
    few_digits,
    short_number,
)
from autograd_surprises.numerics.threads import one_thread
