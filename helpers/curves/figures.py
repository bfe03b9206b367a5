"""Gradient curves as matplotlib figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from autograd_surprises.numerics import few_digits
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import (
    DASHED,
    Range,
    draw_light_grid,
    limits_with_margin,
    shading,
    union,
    usual_range,
)
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import GradientCurve, fn_name, gradient_curve, input_name

SURROGATE = {"color": GRADIENT_COLOUR, "lw": 1.5, "ls": "-.", "label": "surrogate function"}
MEASURE_OPTIONS = {"x", "points", "kinks", "grad_output"}
MANY_JUMPS = 24  # more dots than this hide the curve


def plot_gradient_curve(
    curve_or_fn: GradientCurve | Callable, *, title: str | None = None, **measure: object
) -> Picture:
    """Draw the value of a function on the left and its gradient on the right.

    Takes a `GradientCurve`, or a function and the arguments of `gradient_curve`. The dashed line
    is the true slope; where autograd's gradient is not the slope, the picture is shaded; at a jump,
    the full dot belongs to the curve and the hollow one does not; a mark at the frame says where
    a number is inf, -inf or NaN. Raises TypeError if arguments come with a curve that is already
    measured.

    >>> plot_gradient_curve(torch.clamp, x=(-2, 2), min=-1, max=1).summary
    'clamp, min=-1, max=1: value -1 to 1, gradient 1 from -1 to 1, 0 outside, slope the same'
    """
    curve = _measured(curve_or_fn, measure)
    params = {name: value for name, value in measure.items() if name not in MEASURE_OPTIONS}
    name = "curve" if isinstance(curve_or_fn, GradientCurve) else fn_name(curve_or_fn)
    title = title or title_with(name, params)
    figure, artists = curve_figure(curve_or_fn)
    artists.fit([curve])
    artists.show(curve)
    figure.suptitle(textwrap.fill(title, 85), parse_math=False)
    figure.summary = f"{title}: {curve.describe()}"
    return figure


def plot_gallery(
    functions: Mapping[str, GradientCurve | Callable],
    *,
    title: str | None = None,
    columns: int = 4,
    surrogate: bool = False,
    **measure: object,
) -> Picture:
    """Draw several functions side by side on the same scales, each value above its gradient.

    `functions` maps titles to functions or curves; `measure` goes to `gradient_curve`. With
    `surrogate`, the function whose slope is the gradient is drawn over each value. Raises
    ValueError if there is nothing to draw or no column to draw it in.

    >>> plot_gallery({"round": torch.round, "frac": torch.frac}).summary.splitlines()[0]
    'round: value -3 to 3, gradient 0, slope 0'
    """
    if not isinstance(functions, Mapping) or not functions or columns < 1:
        raise ValueError(
            "plot_gallery needs a dict of one or more titles and functions, and at least 1 column, "
            f"got {functions!r} and columns={columns}"
        )
    curves = {name: _measured(fn, measure) for name, fn in functions.items()}
    columns = min(columns, len(curves))
    strips = -(-len(curves) // columns)
    figure = Picture(max(4.5, 0.8 + 2.1 * columns), 1.1 + 3.2 * strips)
    drawn = draw_columns(figure, [textwrap.fill(name, 24) for name in curves], columns)
    for artists, curve in zip(drawn, curves.values(), strict=True):
        artists.fit(curves.values())
        artists.show(curve)
        artists.gradient_ax.set_title("")
        if surrogate:
            (line,) = artists.value_ax.plot(curve.x, surrogate_values(curve), **SURROGATE)
    more = [line] if surrogate else []
    add_legend(figure, artists, columns=4 + len(more) if columns > 2 else 2, more=more)
    title = textwrap.fill(title or "Value above, gradient below", 20 * columns + 20)
    figure.suptitle(title, parse_math=False)
    figure.summary = "\n".join(f"{name}: {curve.describe()}" for name, curve in curves.items())
    return figure


def draw_columns(figure: Picture, titles: Sequence[str], columns: int) -> list[CurveArtists]:
    """Axes for some curves, at most so many side by side: each value above its gradient."""
    rows = 2 * -(-len(titles) // columns)
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    pairs = [(axes[row, k], axes[row + 1, k]) for row in range(0, rows, 2) for k in range(columns)]
    for pair in pairs[len(titles) :]:
        for ax in pair:
            ax.set_visible(False)
    drawn = [CurveArtists(*pair) for pair in pairs[: len(titles)]]
    for i, (artists, title) in enumerate(zip(drawn, titles, strict=True)):
        artists.value_ax.set_title(title, y=1, parse_math=False)
        artists.value_ax.set_xlabel("")
        for line in (artists.value, artists.gradient, artists.slope):
            line.set_gid(f"{' '.join(title.split())}: {line.get_gid()}")  # to be read out
        lowest = i + columns >= len(titles)
        artists.gradient_ax.tick_params(labelbottom=lowest)
        artists.gradient_ax.set_xlabel("x" if lowest else "")
        for ax, label in ((artists.value_ax, "value"), (artists.gradient_ax, "gradient")):
            ax.tick_params(labelleft=i % columns == 0)
            ax.set_ylabel(label if i % columns == 0 else "")
    return drawn


def curve_figure(fn: GradientCurve | Callable) -> tuple[Picture, CurveArtists]:
    """A figure for one curve: value on the left, gradient on the right, the legend below."""
    figure = Picture(8, 3.4)
    artists = CurveArtists(*figure.subplots(1, 2))
    for ax in (artists.value_ax, artists.gradient_ax):
        ax.set_xlabel(input_name(fn))
    add_legend(figure, artists)
    return figure, artists


def add_legend(figure: Picture, artists: CurveArtists, columns: int = 4, more: Iterable = ()):
    """Name the lines of a curve below the figure, in the same words in all figures."""
    lines = [artists.value, *more, artists.gradient, artists.slope, artists.mismatch]
    legend = figure.legend_below(handles=lines, columns=columns)
    artists.names = dict(zip(lines, legend.get_texts(), strict=True))


class CurveArtists:
    """Everything in a figure that belongs to one curve; `show` moves it to another curve.

    Call `fit` first: the labels at the frame are placed clear of the lines.
    """

    def __init__(self, value_ax: Axes, gradient_ax: Axes):
        self.value_ax, self.gradient_ax = value_ax, gradient_ax
        across = gradient_ax.get_xaxis_transform()  # x of the data, y from bottom to top
        self.mismatch = gradient_ax.add_collection(
            PolyCollection(
                [], transform=across, label="gradient ≠ slope", **shading(GRADIENT_COLOUR)
            )
        )
        self.value = _line(value_ax, VALUE_COLOUR, lw=2, label="value", gid="value")
        self.gradient = _line(
            gradient_ax, GRADIENT_COLOUR, lw=3, label="autograd's gradient", gid="gradient"
        )
        self.slope = _line(
            gradient_ax, SLOPE_COLOUR, lw=1.5, ls=DASHED, label="true slope", gid="slope"
        )
        dot = {"linestyle": "", "marker": "o", "markersize": 6}
        self.value_rings = _line(value_ax, VALUE_COLOUR, mfc="white", **dot)
        self.gradient_rings = _line(gradient_ax, GRADIENT_COLOUR, mfc="white", **dot)
        self.value_dots = _line(value_ax, VALUE_COLOUR, **dot)
        self.gradient_dots = _line(gradient_ax, GRADIENT_COLOUR, **dot)
        self.names = {}  # their texts in the legend, if there is one
        self.value_marks = FrameMarks(value_ax, VALUE_COLOUR)
        self.gradient_marks = FrameMarks(gradient_ax, GRADIENT_COLOUR)
        for ax, title in ((value_ax, "value"), (gradient_ax, "")):
            ax.set_title(title, y=1)  # without y, each layout looks for its place
            ax.set_xlabel("x")
        draw_light_grid(value_ax, gradient_ax)

    @property
    def moving(self) -> list[Artist]:
        """The artists that `show` changes, in the order in which they are drawn."""
        return [
            self.mismatch, self.value, self.gradient, self.slope, self.value_rings,
            self.gradient_rings, self.value_dots, self.gradient_dots, self.gradient_ax.title,
            *self.value_marks.artists, *self.gradient_marks.artists,
        ]  # fmt: skip

    def show(self, curve: GradientCurve):
        for values, line, dots, rings in (
            (curve.y, self.value, self.value_dots, self.value_rings),
            (curve.grad, self.gradient, self.gradient_dots, self.gradient_rings),
        ):
            jumps = curve.jumps(values)
            line.set_data(with_gaps(curve.x, jumps), with_gaps(values, jumps))
            full, hollow = _ends(curve.x.tolist(), jumps if len(jumps) <= MANY_JUMPS else [])
            for markers, places in ((dots, full), (rings, hollow)):
                markers.set_data(curve.x[places].numpy(), values[places].numpy())
                markers.set_visible(bool(places))  # to draw nothing takes time, too
        self.slope.set_data(*_slope_line(curve))
        self.value_marks.show(curve.x, curve.y)
        self.gradient_marks.show(curve.x, curve.grad)
        places = curve.disagreement()
        self.mismatch.set_visible(bool(places))
        point = 0.003 * (curve.x[-1] - curve.x[0]).item()  # a single point has to be seen, too
        self.mismatch.set_verts(
            [[(a - point, 0), (a - point, 1), (b + point, 1), (b + point, 0)] for a, b in places]
        )
        self._name_slope(curve.grad_output == 1, bool(places))

    def _name_slope(self, alone, differs):
        """Call the dashed line what it is: it is multiplied by grad_output, as the gradient is."""
        names = (
            ("true slope", "gradient ≠ slope") if alone else ("slope · grad_output", "they differ")
        )
        for artist, name in zip((self.slope, self.mismatch), names, strict=True):
            artist.set_label(name)  # for a legend that is made later
            text = self.names.get(artist)
            if text and text.get_text() != name:
                text.set_text(name)
                text.figure.stale = True  # a legend does not say so itself
        if alone:
            title = "gradient ≠ slope" if differs else "gradient = slope"
        else:
            title = "gradient differs" if differs else "gradient agrees"
        # not set_title, which would say that something else has changed, too
        self.gradient_ax.title.set_text(title)

    def fit(self, curves: Iterable[GradientCurve]):
        """Give both axes limits that are wide enough for all of these curves."""
        self.limit(union(map(curve_ranges, curves)))

    def limit(self, ranges: Mapping[str, Range]):
        """Give both axes limits that hold these ranges, in the form of `curve_ranges`."""
        for ax, name in ((self.value_ax, "value"), (self.gradient_ax, "gradient")):
            ax.set(xlim=ranges["x"], ylim=limits_with_margin(ranges.get(name)))


def curve_ranges(curve: GradientCurve) -> dict[str, Range]:
    """What the axes have to hold: x, value and gradient. There is no "value" if none is finite.

    >>> curve_ranges(gradient_curve(torch.exp, x=(-1, 0)))["x"]
    (-1.0, 0.0)
    """
    value = usual_range(curve.ordinary(curve.y))
    slope = curve.ordinary(curve.slope * curve.grad_output)
    gradient = usual_range(torch.cat([curve.ordinary(curve.grad), slope]))
    # 0 and 1 stay in sight, because readers compare gradients with them
    always = {"x": (curve.x[0].item(), curve.x[-1].item()), "gradient": (0.0, 1.0)}
    found = {"value": value, "gradient": gradient}
    return union([always, {name: range_ for name, range_ in found.items() if range_}])


def surrogate_values(curve: GradientCurve) -> torch.Tensor:
    """A function whose slope is the gradient: its integral, with the mean of the value.

    >>> ramp = gradient_curve(lambda x: x + (x.round() - x).detach(), x=(-2, 2))
    >>> torch.allclose(surrogate_values(ramp), ramp.x, atol=1e-3)
    True
    """
    integral = torch.cumulative_trapezoid(curve.grad / curve.grad_output, curve.x)
    integral = torch.cat([integral.new_zeros(1), integral])
    length = curve.x[-1] - curve.x[0]
    return integral + torch.trapezoid(curve.y - integral, curve.x) / length


def title_with(name: str, values: Mapping[str, object], joint: str = ", ") -> str:
    """A name and some values, as a title of one line or more.

    >>> title_with("paths", {"x1": 0.30000000000000004})
    'paths, x1=0.3'
    """
    shown = ", ".join(f"{key}={word_for(value)}" for key, value in values.items())
    return textwrap.fill(f"{name}{joint}{shown}" if shown else name, 85)


def word_for(value: object) -> str:
    """The value of a parameter in a title.

    >>> word_for(0.30000000000000004), word_for(torch.tensor(-1.0)), word_for(torch.sin)
    ('0.3', '-1', 'sin')
    """
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, float):
        return few_digits(value, 6)
    return fn_name(value) if callable(value) else str(value)


def _measured(curve_or_fn, measure):
    if not isinstance(curve_or_fn, GradientCurve):
        return gradient_curve(curve_or_fn, **measure)
    if measure:
        raise TypeError(f"this curve is measured already: leave out {', '.join(measure)}")
    return curve_or_fn


def _line(ax, colour, **style):
    return ax.plot([], [], color=colour, **style)[0]


def with_gaps(values, jumps):
    """Put a NaN into each jump, so that no line is drawn across it.

    >>> with_gaps(torch.tensor([0.0, 0.0, 1.0]), [1]).tolist()
    [0.0, 0.0, nan, 1.0, nan]
    """
    gap = torch.tensor([torch.nan], dtype=values.dtype)
    parts = values.tensor_split([i + 1 for i in jumps])
    return torch.cat([piece for part in parts for piece in (part, gap)]).numpy()


def _ends(x, jumps):
    """For each jump, the index of the point on the curve and that of the point next to it."""
    # 0.5 and 0.5000000000000001 are float neighbours: the jump is at the shorter number
    full = [i if len(repr(x[i])) <= len(repr(x[i + 1])) else i + 1 for i in jumps]
    return full, [2 * i + 1 - end for i, end in zip(jumps, full, strict=True)]


def _slope_line(curve):
    """x and slope to draw: the left slope up to a kink, a gap, the right slope from there on."""
    slope = torch.where(curve.touches_right, curve.slope_left, curve.slope)
    slope = torch.where(curve.touches_left, curve.slope_right, slope) * curve.grad_output
    edge = ~(curve.touches_left & curve.touches_right)
    x, slope, starts_kink = curve.x[edge], slope[edge], curve.touches_right[edge][:-1]
    bends = slope.diff().abs() > 1e-3 * (1 + slope[1:].abs())
    kinks = (starts_kink & bends).nonzero().flatten().tolist()
    return with_gaps(x, kinks), with_gaps(slope, kinks)
