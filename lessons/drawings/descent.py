"""Where methods of descent go on a landscape."""

from collections.abc import Callable, Mapping

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import CONTOURS, draw_light_grid
from helpers.explore.drawings.drawing import Drawing
from lessons.derivatives import kind_of_point

MARKERS = {"a minimum": "v", "a saddle point": "X", "a maximum": "^"}
FLOOR = 1e-12  # smaller heights are drawn here
REACH = 5.0  # the landscape is drawn from -5 to 5 in both directions
STYLES = (  # different without colour, too
    {"color": GRADIENT_COLOUR, "marker": "o", "ms": 4, "lw": 1.6},
    {"color": VALUE_COLOUR, "marker": "s", "ms": 4, "lw": 1.6, "ls": "--"},
    {"color": SLOPE_COLOUR, "marker": "D", "ms": 4, "lw": 1.6, "ls": ":"},
)


class DescentDrawing(Drawing):
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
        self,
        fn: Callable,
        methods: Mapping[str, Callable],
        start: tuple[float, float] = (0.0, 0.0),
    ):
        if not 1 <= len(methods) <= len(STYLES):
            raise ValueError(f"needs one to {len(STYLES)} methods, got {len(methods)}")
        self.fn, self.methods, self.name = fn, dict(methods), " and ".join(methods)
        self._last = None
        self.parameters = {"x1": float(start[0]), "x2": float(start[1]), "steps": None}
        self.figure = Picture(8, 4.2)
        plane, self._height_ax = self.figure.subplots(1, 2, width_ratios=[1.25, 1])
        self._draw_landscape(plane, torch.arange(-60, 61) / 60 * REACH)
        styles = STYLES[: len(methods)]
        self._paths = [plane.plot([], [], **style)[0] for style in styles]
        self._heights = [self._height_ax.plot([], [], **style)[0] for style in styles]
        (self._start,) = plane.plot([], [], "*", color="black", mec="white", ms=15)
        end = {"ls": "", "mec": "white", "ms": 13}
        self._ends = [plane.plot([], [], color=style["color"], **end)[0] for style in styles]
        self.moving = [*self._paths, self._start, *self._ends, *self._heights]
        kinds = [plane.plot([], [], marker=m, color="#777777", **end)[0] for m in MARKERS.values()]
        self.figure.legend_below(
            [*self._paths, self._start, *kinds], [*methods, "start", *MARKERS],
            columns=6 if len(methods) < 3 else 4, columnspacing=1.2,
        )  # fmt: skip

    def _draw_landscape(self, plane, line):
        heights = self.fn(torch.cartesian_prod(line, line)).reshape(len(line), len(line)).T
        self._landscape = self._lowest, _ = heights.min().item(), heights.max().item()
        above = heights - self._lowest
        if not above.isfinite().all() or not above.any():
            raise ValueError("fn needs finite heights that differ: it is flat or has NaN or inf")
        levels = above.max() * torch.linspace(0, 1, 14)[1:] ** 3  # closer where it is flat
        plane.contour(line.numpy(), line.numpy(), above.numpy(), levels.tolist(), **CONTOURS)
        ends = line[0].item(), line[-1].item()
        plane.set(title="paths and lines of equal height", xlabel="x1", ylabel="x2", aspect=1)
        plane.set(xlim=[1.04 * end for end in ends], ylim=[1.04 * end for end in ends])
        self._height_ax.set(title="height above the lowest", xlabel="step", yscale="log")
        draw_light_grid(self._height_ax)

    def show(self, **values):
        paths, texts = self._descend(**values), []
        heights = [self.fn(path) for path in paths]
        self.ranges = self._ranges(heights)
        steps = values.get("steps")
        if steps is not None:
            if steps < 0:
                raise ValueError(f"steps needs to be at least 0, got {steps}")
            paths, heights = ([each[: steps + 1] for each in some] for some in (paths, heights))
        self._heights_shown = heights
        self._place_heights()
        self._start.set_data(*paths[0][:1].T.numpy())
        for k, (name, path) in enumerate(zip(self.methods, paths, strict=True)):
            self._paths[k].set_data(*path.T.numpy())
            kind = kind_of_point(self.fn, path[-1])
            self._ends[k].set_data(*path[-1:].T.numpy())
            self._ends[k].set_marker(MARKERS.get(kind, ""))
            end = ", ".join(map(short_number, path[-1]))
            texts.append(f"{name}: {len(path) - 1} steps to ({end}), {kind}")
        return "; ".join(texts)

    def measure(self, **values):
        return self._ranges([self.fn(path) for path in self._descend(**values)])

    def fit(self, ranges):
        (_, last), (self._lowest, highest) = ranges["step"], ranges["height"]
        self._height_ax.set(
            xlim=(-0.5, last + 0.5), ylim=(FLOOR / 3, 30 * (highest - self._lowest))
        )
        self._place_heights()

    def _ranges(self, heights):
        """The steps, and the heights of the landscape and of what lies lower on a path."""
        lowest, highest = self._landscape
        found = torch.cat(heights)
        lowest = min([lowest, *found[found.isfinite()].tolist()])
        return {"step": (0, max(map(len, heights)) - 1), "height": (lowest, highest)}

    def _place_heights(self):
        for line, heights in zip(self._heights, self._heights_shown, strict=True):
            above = (heights - self._lowest).clamp(min=FLOOR)
            line.set_data(range(len(heights)), above.numpy())

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
