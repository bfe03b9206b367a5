"""A function and its gradient: as numbers, and as figures."""

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from helpers.curves.figures import plot_gallery, plot_gradient_curve
    from helpers.curves.numbers import GradientCurve, gradient_curve

__all__ = ["GradientCurve", "gradient_curve", "plot_gallery", "plot_gradient_curve"]
