"""A function and its gradient: as numbers, and as figures."""

from helpers.curves.figures import plot_gallery, plot_gradient_curve
from helpers.curves.numbers import GradientCurve, gradient_curve

__all__ = ["GradientCurve", "gradient_curve", "plot_gallery", "plot_gradient_curve"]
