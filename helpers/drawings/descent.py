"""Where methods of descent go on a landscape."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from helpers.derivatives import kind_of_point
from helpers.drawings.drawing import Drawing, short
from helpers.picture import Picture
from helpers.plotting import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR

STYLES = (  # told apart without colour, too
    {"color": GRADIENT_COLOUR, "marker": "o", "ms": 4, "lw": 1.6},
    {"color": VALUE_COLOUR, "marker": "s", "ms": 6, "lw": 1.6, "ls": "--"},
    {"color": SLOPE_COLOUR, "marker": "^", "ms": 6, "lw": 1.6, "ls": ":"},
)


class DescentDrawing(Drawing):
    """On the left the paths over lines of equal height, on the right the height in each step.

    fn      maps x of shape (..., 2) to heights of shape (...)
    methods  {name: method}, at most three; method(fn, start) returns the points of its path,
             of shape (steps + 1, 2)

    The points x1, x2 from which they start can be slid.

    >>> bowl = lambda x: (x**2).sum(-1)
    >>> stay = DescentDrawing(bowl, {"stays": lambda fn, x: x[None]})
    >>> stay.show(x1=0.0, x2=0.0)
    'stays: 0 steps to (0, 0), a minimum'
    """

    parameters = {"x1": 0.0, "x2": 0.0}

    def __init__(self, fn: Callable, methods: Mapping[str, Callable], reach: float = 5.0):
        if not 1 <= len(methods) <= len(STYLES):
            raise ValueError(f"needs one to {len(STYLES)} methods, got {len(methods)}")
        self.fn, self.methods, self.name = fn, dict(methods), " and ".join(methods)
        self.figure = Picture(8, 4.2)
        plane, height = self.figure.subplots(1, 2, width_ratios=[1.25, 1])
        line = torch.linspace(-reach, reach, 121)
        heights = fn(torch.cartesian_prod(line, line)).reshape(121, 121).T
        above = heights - heights.min()
        levels = above.max() * torch.linspace(0, 1, 14)[1:] ** 3  # closer where it is flat
        plane.contour(
            line.numpy(),
            line.numpy(),
            above.numpy(),
            levels.tolist(),
            colors="#888888",
            linewidths=0.7,
        )
        plane.set(title="the way", xlabel="x1", ylabel="x2", aspect=1)
        plane.set(xlim=(-reach, reach), ylim=(-reach, reach))
        height.set(title="the height after each step", xlabel="step", yscale="symlog")
        height.set(ylim=(min(0.0, heights.min().item()), 2 * heights.max().item()))
        height.grid(color="#dddddd", lw=0.6)
        self._ways, self._heights, self._height_ax = [], [], height
        for style in STYLES[: len(methods)]:
            self._ways += plane.plot([], [], **style)
            self._heights += height.plot([], [], **style)
        (self._start,) = plane.plot([], [], "*", color="black", mec="white", ms=15)
        self.moving = [*self._ways, self._start, *self._heights]
        self.figure.legend(
            [*self._ways, self._start], [*methods, "start"],
            loc="outside lower center", ncols=4, frameon=False,
        )  # fmt: skip

    def fit(self, settings):
        paths = [path for values in settings for path in self._paths(**values)]
        self._height_ax.set_xlim(-0.5, max(len(path) for path in paths) - 0.5)

    def show(self, **values):
        paths, said = self._paths(**values), []
        for path, way, height in zip(paths, self._ways, self._heights, strict=True):
            way.set_data(*path.T.numpy())
            height.set_data(range(len(path)), self.fn(path).numpy())
        self._start.set_data(*paths[0][:1].T.numpy())
        for name, path in zip(self.methods, paths, strict=True):
            end = ", ".join(map(short, path[-1]))
            kind = kind_of_point(self.fn, path[-1])
            said.append(f"{name}: {len(path) - 1} steps to ({end}), {kind}")
        return "; ".join(said)

    def _paths(self, x1=0.0, x2=0.0):
        start = torch.tensor([x1, x2], dtype=torch.float64)
        return [method(self.fn, start).detach() for method in self.methods.values()]
