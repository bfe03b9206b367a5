"""Where forward mode says that a curve goes, and where another `jvp` says so."""

from collections.abc import Callable, Mapping

import torch
from torch.func import jvp

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from lessons.drawings.panel import PanelDrawing

OFF = 0.05  # from here on, two tangents of y differ on the page


class TangentDrawing(PanelDrawing):
    """A curve, and for each function the arrow from (x, y) by (tangent of x, tangent of y).

    functions  {name: a function}, two of the same value; the jvp of the first is the right one

    >>> drawing = TangentDrawing({"square": torch.square, "other": lambda x: x**2})
    >>> drawing.show(at=1.0, tangent=0.5)
    'x = 1 moves by 0.5: y moves by 1 (square) and 1 (other)'
    """

    name, joint = "Tangents, forwards", " · "

    def __init__(self, functions: Mapping[str, Callable[[torch.Tensor], torch.Tensor]]):
        self._functions = dict(functions)
        (ax,) = self.panels(8, 3.6, "")
        ax.set(xlabel="x", ylabel="y", xlim=(-2.7, 2.7), ylim=(-2.5, 7.5))
        points = torch.linspace(-2.7, 2.7, 271)
        right, *_ = self._functions.values()
        ax.plot(points, right(points), color=VALUE_COLOUR, gid="y")
        right = self.arrow(ax, GRADIENT_COLOUR)
        self._arrows = [right, self.arrow(ax, SLOPE_COLOUR, dashed=True)]
        self._dot = self.line(ax, VALUE_COLOUR, "o", ms=9, mec=VALUE_COLOUR)
        self._says = self.words(ax, 0, 6.4)
        arrows = zip(functions, self._arrows, strict=True)
        self.legend({name: arrow.line for name, arrow in arrows})

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
