"""Value, slope and curvature of a function, and where methods of descent go on a landscape."""

from collections.abc import Callable, Mapping

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import (
    CURVATURE_COLOUR,
    GRADIENT_COLOUR,
    SLOPE_COLOUR,
    VALUE_COLOUR,
)
from helpers.curves.axes import CONTOURS, limits_with_margin, usual_range
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import fn_name
from helpers.explore.drawings.drawing import arguments_of
from lessons.derivatives import derivatives, kind_of_point
from lessons.drawings.panel import PanelDrawing

TITLES = "value", "slope", "curvature"


class CurvatureDrawing(PanelDrawing):
    """fn(x), fn'(x) and fn''(x) side by side; at the point `at`, the tangent and the parabola.

    Slope and curvature come from autograd. The parabola has the value y, the slope and the
    curvature of fn at this point: y + slope · d + curvature / 2 · d², where d is the distance
    from `at`. The diamond is its lowest or highest point, at - slope / curvature.

    >>> CurvatureDrawing(torch.sin).show(at=0.0)
    'value 0, slope 1, curvature 0'
    """

    def __init__(self, fn: Callable, x: tuple[float, float] = (-3.0, 3.0), at: float = 0.0):
        if not x[0] <= at <= x[1] or x[0] == x[1]:
            raise ValueError(f"needs an interval x = (low, high) with at in it, got x={x}, at={at}")
        self.fn, self.name = fn, fn_name(fn)
        self.parameters, self.takes_any = arguments_of(fn)
        if "at" in self.parameters:
            raise ValueError("at is the point on the curve: give fn's parameter another name")
        self.parameters["at"] = at
        self._x = torch.linspace(*x, 401, dtype=torch.float64)
        self._axes = value_ax, *_ = self.panels(8, 3.4, *TITLES)
        colours = VALUE_COLOUR, GRADIENT_COLOUR, CURVATURE_COLOUR
        each = list(zip(self._axes, colours, TITLES, strict=True))
        for ax in self._axes:
            ax.set(xlabel="x", xlim=x)
            ax.axhline(0, color=SLOPE_COLOUR, lw=0.8)
        self._curves = [self.line(ax, colour, lw=2, gid=title) for ax, colour, title in each]
        self._tangent = self.line(value_ax, GRADIENT_COLOUR, ls="--", lw=1.6)
        self._parabola = self.line(value_ax, CURVATURE_COLOUR, ls=":", lw=2.4)
        self._places = [
            self.add(ax.axvline(at, color=colour, lw=0.8, ls=":")) for ax, colour, _ in each
        ]
        self._dots = [self.line(ax, colour, "o", ms=9) for ax, colour, _ in each]
        self._vertex = self.line(value_ax, CURVATURE_COLOUR, "D", ms=9)
        self._marks = [FrameMarks(ax, colour) for ax, colour, _ in each]
        self.moving += [artist for marks in self._marks for artist in marks.artists]
        self.legend(
            {
                "same slope": self._tangent,
                "same slope and curvature": self._parabola,
                "at - slope / curvature": self._vertex,
            }
        )

    def show(self, **values):
        params = {name: value for name, value in values.items() if name != "at"}
        at = torch.tensor(self.with_defaults(values)["at"], dtype=torch.float64)
        everywhere, here = (
            derivatives(lambda x: self.fn(x, **params), points) for points in (self._x, at)
        )
        value, slope, curvature = here
        finite = [numbers[numbers.isfinite()] for numbers in everywhere]
        ranges = zip(TITLES, map(usual_range, finite), strict=True)
        self.ranges = {title: range_ for title, range_ in ranges if range_}
        for curve, marks, numbers in zip(self._curves, self._marks, everywhere, strict=True):
            curve.set_data(self._x.numpy(), numbers.numpy())
            marks.show(self._x, numbers)
        for dot, line, number in zip(self._dots, self._places, here, strict=True):
            dot.set_data([at.item()], [number.item()])
            line.set_xdata([at.item()])
        away = self._x - at
        self._tangent.set_data(self._x.numpy(), (value + slope * away).numpy())
        parabola = value + slope * away + curvature / 2 * away**2
        self._parabola.set_data(self._x.numpy(), parabola.numpy())
        vertex = at - slope / curvature
        self._vertex.set_data([vertex.item()], [(value + slope * (vertex - at) / 2).item()])
        value, slope, curvature = map(short_number, here)
        return f"value {value}, slope {slope}, curvature {curvature}"

    def fit(self, ranges):
        for ax, title in zip(self._axes, TITLES, strict=True):
            ax.set_ylim(limits_with_margin(ranges.get(title)))


MARKERS = {"a minimum": "v", "a saddle point": "X", "a maximum": "^"}
FLOOR = 1e-12  # smaller heights, and what lies below the landscape, are drawn here
REACH = 5.0  # the landscape is drawn from -5 to 5 in both directions
LOOKS = (  # different without colour, too
    (GRADIENT_COLOUR, {"marker": "o", "ms": 4, "lw": 1.6}),
    (VALUE_COLOUR, {"marker": "s", "ms": 4, "lw": 1.6, "ls": "--"}),
    (SLOPE_COLOUR, {"marker": "D", "ms": 4, "lw": 1.6, "ls": ":"}),
)


class DescentDrawing(PanelDrawing):
    """On the left the paths over lines of equal height, on the right the height after each step.

    A large marker at the end of a path shows a minimum, a maximum or a saddle point.

    fn       maps x of shape (..., 2) to heights of shape (...)
    methods  {name: method}, at most three; method(fn, start) returns the points of its path,
             of shape (steps + 1, 2)
    start    where the paths start; sliders for x1 and x2 move it

    A slider for `steps` shows each path up to this step, otherwise all of it is shown. The paths
    are computed again only from another start.

    >>> bowl = lambda x: (x**2).sum(-1)
    >>> stay = DescentDrawing(bowl, {"stays": lambda fn, x: x[None]})
    >>> stay.show(x1=0.0, x2=0.0)
    'stays: 0 steps to (0, 0), a minimum'
    """

    def __init__(
        self, fn: Callable, methods: Mapping[str, Callable], start: tuple[float, float] = (0.0, 0.0)
    ):
        self.fn, self.methods, self.name = fn, dict(methods), " and ".join(methods)
        self._last = None
        self.parameters = {"x1": float(start[0]), "x2": float(start[1]), "steps": None}
        titles = "paths and lines of equal height", "height above the lowest"
        plane, self._height_ax = self.panels(
            8, 4.2, *titles, grid=("", "both"), width_ratios=[1.25, 1]
        )
        self._draw_landscape(plane, torch.arange(-60, 61) / 60 * REACH)
        looks = LOOKS[: len(methods)]
        self._paths = [self.line(plane, colour, **look) for colour, look in looks]
        self._start = self.line(plane, "black", "*", ms=15)
        self._ends = [self.line(plane, colour, "o", ms=13) for colour, _ in looks]
        self._heights = [self.line(self._height_ax, colour, **look) for colour, look in looks]
        end = {"ls": "", "mec": "white", "ms": 13, "color": "#777777"}
        kinds = {kind: plane.plot([], [], mark, **end)[0] for kind, mark in MARKERS.items()}
        paths = dict(zip(methods, self._paths, strict=True))
        columns = 6 if len(methods) < 3 else 4
        self.legend({**paths, "start": self._start, **kinds}, columns, columnspacing=1.2)

    def _draw_landscape(self, plane, line):
        heights = self.fn(torch.cartesian_prod(line, line)).reshape(len(line), len(line)).T
        self._lowest = heights.min().item()
        above = heights - self._lowest
        if not above.isfinite().all() or not above.any():
            raise ValueError("fn needs finite heights that differ: it is flat or has NaN or inf")
        levels = above.max() * torch.linspace(0, 1, 14)[1:] ** 3  # closer where it is flat
        plane.contour(line.numpy(), line.numpy(), above.numpy(), levels.tolist(), **CONTOURS)
        ends = line[0].item(), line[-1].item()
        plane.set(xlabel="x1", ylabel="x2", aspect=1)
        plane.set(xlim=[1.04 * end for end in ends], ylim=[1.04 * end for end in ends])
        limits = FLOOR / 3, 30 * above.max().item()
        self._height_ax.set(xlabel="step", yscale="log", ylim=limits)

    def show(self, **values):
        paths, texts = self._descend(**values), []
        self.ranges = {"step": (0, max(map(len, paths)) - 1)}
        steps = values.get("steps")
        if steps is not None:
            paths = [path[: steps + 1] for path in paths]
        self._start.set_data(*paths[0][:1].T.numpy())
        for k, (name, path) in enumerate(zip(self.methods, paths, strict=True)):
            self._paths[k].set_data(*path.T.numpy())
            above = (self.fn(path) - self._lowest).clamp(min=FLOOR)
            self._heights[k].set_data(range(len(path)), above.numpy())
            kind = kind_of_point(self.fn, path[-1])
            self._ends[k].set_data(*path[-1:].T.numpy())
            self._ends[k].set_marker(MARKERS.get(kind, ""))
            end = ", ".join(map(short_number, path[-1]))
            texts.append(f"{name}: {len(path) - 1} steps to ({end}), {kind}")
        return "; ".join(texts)

    def fit(self, ranges):
        self._height_ax.set_xlim(-0.5, ranges["step"][1] + 0.5)

    def _descend(self, **values):
        values = self.with_defaults(values)
        start = values["x1"], values["x2"]
        if self._last is None or self._last[0] != start:  # another step is on the same paths
            self._last = start, self._paths_from(torch.tensor(start, dtype=torch.float64))
        return self._last[1]

    def _paths_from(self, start):
        paths = [method(self.fn, start.clone()).detach() for method in self.methods.values()]
        for name, path in zip(self.methods, paths, strict=True):
            if path.dim() != 2 or path.shape[1] != 2 or not len(path):
                raise ValueError(
                    f"{name} needs to return points of shape (steps + 1, 2), got "
                    f"{tuple(path.shape)}"
                )
        return paths
