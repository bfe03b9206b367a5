"""Some of the digits as a figure."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_surprises.show.picture import Picture
from helpers.lessons.digits.images import IMAGES

COLUMNS = 10


def show_digits(rows: Sequence[int], titles: Sequence[str]) -> Picture:
    """Draw the images in these rows of IMAGES, ten in a line, each with a title.

    >>> show_digits([0, 1], ["zero", "one"]).summary
    '2 digits: zero, one'
    """
    if not rows or len(rows) != len(titles):
        raise ValueError(
            f"show_digits needs some rows and a title for each, got {len(rows)} rows and "
            f"{len(titles)} titles"
        )
    lines = -(-len(rows) // COLUMNS)
    figure = Picture(8, 0.95 * lines)
    axes = figure.subplots(lines, COLUMNS, squeeze=False).flatten()
    for ax in axes:
        ax.axis("off")
    for ax, row, title in zip(axes, rows, titles, strict=False):
        ax.imshow(
            IMAGES[row].reshape(8, 8).numpy(), cmap="gray_r", vmin=0, vmax=1, interpolation="none"
        )
        ax.set_title(title, fontsize=9)
    figure.summary = f"{len(rows)} digits: {', '.join(titles)}"
    return figure
