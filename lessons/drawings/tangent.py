"""Where forward mode says that a curve goes, and where another `jvp` says so."""

from collections.abc import Callable, Mapping

import torch
from torch.func import jvp

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.explore.drawings.drawing import Drawing
from lessons.drawings.arrow import Arrow

OFF = 0.05  # from here on, two tangents of y differ on the page


class TangentDrawing(Drawing):
    """A curve, and for each function the arrow from (x, y) by (tangent of x, tangent of y).

    functions  {name: a function}, two of the same value; the jvp of the first is the right one

    >>> drawing = TangentDrawing({"square": torch.square, "other": lambda x: x**2})
    >>> drawing.show(at=1.0, tangent=0.5)
    'x = 1 moves by 0.5: y moves by 1 (square) and 1 (other)'
    """

    name = "Tangents, forwards"

    def __init__(self, functions: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]):
        self._functions = dict(functions)
        self.figure = Picture(8, 3.6)
        ax = self.figure.subplots()
        ax.set(xlabel="x", ylabel="y", xlim=(-2.7, 2.7), ylim=(-2.5, 7.5))
        draw_light_grid(ax)
        points = torch.linspace(-2.7, 2.7, 271)
        right, *_ = self._functions.values()
        ax.plot(points, right(points), color=VALUE_COLOUR, gid="y")
        self._arrows = [Arrow(ax, GRADIENT_COLOUR), Arrow(ax, SLOPE_COLOUR, dashed=True)]
        (self._dot,) = ax.plot([], [], "o", ms=9, color=VALUE_COLOUR)
        self._says = ax.text(0, 6.4, "", ha="center", va="center")
        artists = [artist for arrow in self._arrows for artist in arrow.artists]
        self.moving = [*artists, self._dot, self._says]
        lines = [arrow.line for arrow in self._arrows]
        self.figure.legend_below(lines, list(self._functions), columns=2)

    def show(self, at=1.5, tangent=1.0):
        x, along = torch.tensor(at), torch.tensor(tangent)
        moved = []
        for arrow, function in zip(self._arrows, self._functions.values(), strict=True):
            y, of_y = (each.item() for each in jvp(function, (x,), (along,)))
            arrow.point_to((at + tangent, y + of_y), start=(at, y))
            moved.append(of_y)
        self._dot.set_data([at], [y])
        names = [*self._functions]
        if abs(moved[1] - moved[0]) > OFF:
            says = f"{names[1]} is not tangent to the curve"
        else:
            says = "both arrows are tangent to the curve" if tangent else "x does not move"
        self._says.set_text(says)
        texts = [
            f"{short_number(of_y, 3)} ({name})" for of_y, name in zip(moved, names, strict=True)
        ]
        return f"x = {at:g} moves by {tangent:g}: y moves by {' and '.join(texts)}"
