"""A function and its gradient: as numbers, and as figures.

regions             where numbers are infinite or NaN, and which they are, in words
numbers             gradient_curve: value, autograd's gradient and the true slope
agreement           where several functions differ, in value or in gradient
derivatives         first and second derivatives of any function
surrogate_function  the function whose derivative a gradient is
axes                what the axes of all figures have in common
marks               marks at the frame where values are infinite or NaN
figures             plot_gradient_curve, plot_gallery
difference_figure   plot_difference: a curve against the expected one
gallery             plot_operators: every Function of helpers.functions
"""

from helpers.curves.derivatives import derivatives, kind_of_point
from helpers.curves.figures import plot_gallery, plot_gradient_curve
from helpers.curves.gallery import operators, plot_operators
from helpers.curves.numbers import GradientCurve, gradient_curve

__all__ = [
    "GradientCurve",
    "derivatives",
    "gradient_curve",
    "kind_of_point",
    "operators",
    "plot_gallery",
    "plot_gradient_curve",
    "plot_operators",
]
