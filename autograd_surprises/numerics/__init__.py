"""Measuring functions by their values alone; every other part measures with these.

number_text  numbers as text, with as few digits as needed
threads      one_thread, for tensors as short as those measured here
searches     several that share the calls of a function
elementwise  is_elementwise
differences  slopes by finite differences
kinks        where a function jumps or bends
whole_curve  value, gradient and slopes, its jumps and kinks included
"""

from autograd_surprises.numerics.differences import (
    one_sided_slopes,
    partial_slopes,
    slope_and_limit,
    slope_rounding,
)
from autograd_surprises.numerics.elementwise import is_elementwise, same_numbers
from autograd_surprises.numerics.kinks import find_jumps, find_kinks, noise
from autograd_surprises.numerics.number_text import (
    distinct_digits,
    exact_digits,
    few_digits,
    short_number,
)
from autograd_surprises.numerics.threads import one_thread
from autograd_surprises.numerics.whole_curve import even_grid, measure_curve

__all__ = [
    "distinct_digits",
    "even_grid",
    "exact_digits",
    "few_digits",
    "find_jumps",
    "find_kinks",
    "is_elementwise",
    "measure_curve",
    "noise",
    "one_sided_slopes",
    "one_thread",
    "partial_slopes",
    "same_numbers",
    "short_number",
    "slope_and_limit",
    "slope_rounding",
]
