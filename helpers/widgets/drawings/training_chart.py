"""A training as a figure: the loss, and how the network reads the held-out digits."""

from __future__ import annotations

import math

import torch

from autograd_surprises.show.colours import SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import SHADES, draw_light_grid


class TrainingChart:
    """The loss of each batch on the left; on the right, which digit was read as which.

    figure  the figure, a Picture
    moving  the parts that `show` changes, in the order in which they are drawn

    >>> chart = TrainingChart()
    >>> chart.show("2 bits", "half trained", 0.5, [2.3, 1.1], None)
    >>> chart.figure.summary
    '2 bits: half trained'
    """

    def __init__(self):
        self.figure = Picture(8, 4.2)
        loss_ax, digits_ax = self.figure.subplots(1, 2, width_ratios=(1.05, 1))
        self._draw_loss(loss_ax)
        self._draw_digits(digits_ax)
        self.title = self.figure.suptitle("one line\nand another", fontsize=11)
        frame = digits_ax.spines.values()  # or the cells would hide half of it
        self.moving = [self.title, self.line, self.cells, *frame, *self.numbers]

    def _draw_loss(self, ax):
        ax.set(title="loss of each batch", xlabel="trained so far, %", xlim=(0, 100))
        ax.set(yscale="log", ylim=(1e-3, 1e2))
        ax.yaxis.set_major_formatter("{x:g}")
        draw_light_grid(ax)
        ax.axhline(math.log(10), color=SLOPE_COLOUR, ls="--", lw=1)
        ax.text(99, 4, "guessing: ln 10", ha="right", va="bottom")
        (self.line,) = ax.plot([], [], color=VALUE_COLOUR, lw=1)

    def _draw_digits(self, ax):
        ax.set(title="500 held-out digits", xlabel="read as", ylabel="written", aspect="equal")
        ax.set(xticks=range(10), yticks=range(10))
        ax.tick_params(length=0)
        look = {"cmap": SHADES, "vmin": -50, "vmax": 50, "interpolation": "none"}
        self.cells = ax.imshow(torch.zeros(10, 10).numpy(), **look)
        centred = {"ha": "center", "va": "center_baseline", "fontsize": 10}
        self.numbers = [ax.text(i % 10, i // 10, "", **centred) for i in range(100)]

    def show(self, name, said, done, losses, confusion):
        """Move the parts to what is known now. Before the network is examined, confusion is None.

        done       the share of the training that is done, from 0 to 1
        losses     the loss of each batch so far
        confusion  (10, 10): how many held-out digits written as (row) were read as (column)
        """
        self.figure.summary = f"{name}: {said}"
        self.title.set_text(f"{name}\n{said}")
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
