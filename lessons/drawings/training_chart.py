"""A training as a figure: the loss, and how the network reads the held-out digits."""

import math
from collections.abc import Sequence

import torch
from matplotlib.collections import PolyCollection
from matplotlib.ticker import MaxNLocator

from autograd_surprises.numerics import few_digits
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import SHADES, draw_light_grid

LAYERS = ((VALUE_COLOUR, "-", "o"), (GRADIENT_COLOUR, "--", "s"), (SLOPE_COLOUR, ":", "^"))
POINTS = 15  # of the gradient: a mean over so many batches each that it is no noise
SMALL = 1e-5  # gradients are drawn on a logarithmic axis above, and on a linear one down to 0


class TrainingChart:
    """A training: its loss, how it reads digits, where its weights lie, its gradients.

    figure  the figure, a Picture
    moving  the parts that the methods change, in the order in which they are drawn

    Call `show_layers` before `show`, which puts all into words, and `start` before a new training.

    >>> chart = TrainingChart()
    >>> chart.show("2 bits", "half trained", 0.5, [2.3, 1.1], None)
    >>> chart.figure.summary
    '2 bits: half trained'
    """

    def __init__(self):
        self.figure = Picture(8, 7.4)
        (loss_ax, digits_ax), (weights_ax, gradient_ax) = self.figure.subplots(
            2, 2, width_ratios=(1.05, 1), height_ratios=(1.3, 1)
        )
        self._draw_loss(loss_ax)
        self._draw_digits(digits_ax)
        self._draw_weights(weights_ax)
        self._draw_gradients(gradient_ax)
        self.title = self.figure.suptitle("one line\nanother\nand a third", fontsize=11)
        frame = digits_ax.spines.values()  # or the cells would hide half of it
        self.moving = [
            self.title, self.before, self.line, self.cells, *frame, *self.numbers,
            self.inside, self.outside, *self.gradients,
        ]  # fmt: skip
        self._last = self._compared = ""
        self.start((-2, 1))

    def _draw_loss(self, ax):
        ax.set(title="loss of each batch", xlabel="trained so far, %", xlim=(0, 100))
        ax.set(yscale="log", ylim=(1e-3, 1e2))
        ax.yaxis.set_major_formatter("{x:g}")
        draw_light_grid(ax)
        ax.axhline(math.log(10), color=SLOPE_COLOUR, ls="--", lw=1)
        ax.text(99, 4, "guessing: ln 10", ha="right", va="bottom")
        dashed = {"color": GRADIENT_COLOUR, "lw": 1, "ls": (0, (4, 2))}
        (self.before,) = ax.plot([], [], label="the run before", **dashed)
        (self.line,) = ax.plot([], [], color=VALUE_COLOUR, lw=1, label="this run")
        ax.legend(handles=[self.line, self.before], loc="lower left", fontsize=9)

    def _draw_weights(self, ax):
        ax.set(title="weights in each bin, %", xlabel="weight / scale, rounded")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        draw_light_grid(ax, along="y")
        self.inside = ax.add_collection(PolyCollection([], facecolor=VALUE_COLOUR, lw=0))
        self.outside = ax.add_collection(
            PolyCollection([], facecolor="white", edgecolor=GRADIENT_COLOUR, hatch="////", lw=1)
        )
        self.outside.set_label("outside the grid")
        ax.legend(handles=[self.outside], loc="upper right", fontsize=9)
        self._weights_ax = ax

    def _draw_gradients(self, ax):
        ax.set(title="mean |gradient| of a weight", xlabel="trained so far, %", xlim=(0, 102))
        ax.set_yscale("symlog", linthresh=SMALL, linscale=0.5)
        powers = [10.0**k for k in range(-5, 0)]
        ax.set(ylim=(-SMALL / 3, 1.0), yticks=[0, *powers])
        ax.set_yticklabels(["0", *(f"{power:.5f}".rstrip("0") for power in powers)])
        ax.minorticks_off()
        ax.set_navigate(False)  # an axis that is linear in part cannot be read out
        draw_light_grid(ax)
        self.gradients = [
            ax.plot([], [], color=colour, ls=style, marker=mark, ms=4, lw=1.5, label=name)[0]
            for (colour, style, mark), name in zip(
                LAYERS, ("first layer", "second", "last"), strict=True
            )
        ]
        ax.legend(loc="upper right", ncols=3, fontsize=9, columnspacing=1, handlelength=1.8)

    def _draw_digits(self, ax):
        ax.set(title="500 held-out digits", xlabel="read as", ylabel="written", aspect="equal")
        ax.set(xticks=range(10), yticks=range(10))
        ax.tick_params(length=0)
        look = {"cmap": SHADES, "vmin": -50, "vmax": 50, "interpolation": "none"}
        self.cells = ax.imshow(torch.zeros(10, 10).numpy(), **look)
        centred = {"ha": "center", "va": "center_baseline", "fontsize": 10}
        self.numbers = [ax.text(i % 10, i // 10, "", **centred) for i in range(100)]

    def start(self, grid: tuple[int, int]):
        """Begin a new run: keep the curve of the one that is shown, to compare with.

        grid  the lowest and the highest bin of a weight
        """
        if len(self.line.get_xdata()):
            self.before.set_data(*self.line.get_data())
            self._compared = self._last
        low, high = grid
        # with more bins, each holds less
        top = 75 * (4 / (high - low + 1)) ** 0.55
        self._weights_ax.set(xlim=(low - 0.8, high + 0.8), ylim=(0, top))
        self._layers_text = ""
        for artist in (self.inside, self.outside):
            artist.set_verts([])
        for line in self.gradients:
            line.set_data([], [])

    def show_layers(
        self,
        weights: torch.Tensor,
        grid: tuple[int, int],
        gradients: Sequence[Sequence[float]],
        done: float,
    ):
        """Move what belongs to the layers.

        weights    all weights, each divided by the scale of its layer
        gradients  for each batch so far, the mean size of the gradient of each layer's weight
        done       the share of the training that is done
        """
        low, high = grid
        finite = weights[weights.isfinite()]
        is_inside = (finite >= low - 0.5) & (finite <= high + 0.5)
        bins = finite.round().clamp(low, high).long() - low
        inside, outside = (
            100 * torch.bincount(bins[chosen], minlength=high - low + 1) / len(weights)
            for chosen in (is_inside, ~is_inside)
        )
        self.inside.set_verts(_bars(low, torch.zeros(len(inside)), inside))
        self.outside.set_verts(_bars(low, inside, outside))
        each = max(1, round(len(gradients) / done / POINTS))
        means = torch.stack([part.mean(0) for part in torch.tensor(gradients).split(each)])
        ends = torch.arange(1, len(means) + 1) * 100 * each * done / len(gradients)
        for line, sizes in zip(self.gradients, means.T, strict=True):
            line.set_data(ends.clamp(max=100 * done).numpy(), sizes.numpy())
        sizes = ", ".join(few_digits(size, 2) for size in means[-1].tolist())
        self._layers_text = (
            f"; {outside.sum():.0f} % of the weights are outside the grid; "
            f"mean |gradient| of each layer, from the first: {sizes}"
        )

    def show(self, name, result, done, losses, confusion):
        """Move the parts to what is known now. Before the network is examined, confusion is None.

        done       the share of the training that is done, from 0 to 1
        losses     the loss of each batch so far
        confusion  (10, 10): how many held-out digits written as (row) were read as (column)
        """
        self._last = f"{name}: {result}"
        self.figure.summary = self._last + self._layers_text
        self.title.set_text(f"{name}\n{result}")
        if self._compared:
            self.figure.summary += f"; the run before: {self._compared}"
            short = self._compared.replace(" of the held-out digits", "")
            self.title.set_text(f"{name}\n{result}\ndashed: {short}")
        percent = torch.arange(1, len(losses) + 1) * (100 * done / max(1, len(losses)))
        self.line.set_data(percent.numpy(), losses)
        for artist in (self.cells, *self.numbers):
            artist.set_visible(confusion is not None)
        if confusion is not None:
            self._show_digits(confusion)

    def _show_digits(self, confusion):
        # Mistakes lie around the diagonal, in vermilion. They are few: five times the shade.
        self.cells.set_data((confusion * (6 * torch.eye(10) - 5)).numpy())
        for number, count in zip(self.numbers, confusion.flatten().tolist(), strict=True):
            number.set_text(str(count or ""))


def _bars(low, bottoms, heights):
    """Rectangles around low, low + 1, …; none where there is nothing to show."""
    half = 0.42
    return [
        [(k - half, y), (k - half, y + height), (k + half, y + height), (k + half, y)]
        for k, (y, height) in enumerate(zip(bottoms.tolist(), heights.tolist(), strict=True), low)
        if height
    ]
