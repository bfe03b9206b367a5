"""Images of digits, the patches that a network looks at, and the codes of a codebook."""

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from lessons.digits.images import IMAGES, TRAINING

COLUMNS = 10
SIDE = 4  # patches in a row, of 2 by 2 pixels each


def show_digits(rows: Sequence[int], titles: Sequence[str]) -> Picture:
    """Draw the images in these rows of IMAGES, ten in a line, each with a title.

    >>> show_digits([0, 1], ["zero", "one"]).summary
    '2 digits: zero, one'
    """
    figure, axes = _images(IMAGES[list(rows)], COLUMNS)
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title, fontsize=9)
    figure.summary = f"{len(rows)} digits: {', '.join(titles)}"
    return figure


def show_images(images: torch.Tensor) -> Picture:
    """Draw images of shape (n, 64), eight in a line.

    >>> show_images(IMAGES[:16]).summary
    '16 images'
    """
    figure, _ = _images(images, columns=8)
    figure.summary = f"{len(images)} images"
    return figure


def show_patches(chosen: Mapping[str, Sequence[int]]) -> Picture:
    """Draw a frame around patches, numbered row by row from 0 to 15, on the mean of all digits.

    A patch that is named more than once says how often.

    chosen  {title: the patches}, a picture each, three in a line

    >>> show_patches({"corners": [0, 15, 15]}).summary
    'corners: patches 0, 15, 15'
    """
    figure = Picture(8, 2.3 * -(-len(chosen) // 3))
    axes = figure.subplots(-(-len(chosen) // 3), 3, squeeze=False).flatten()
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    for ax in axes[len(chosen) :]:
        ax.axis("off")
    for ax, (title, patches) in zip(axes, chosen.items(), strict=False):
        _draw_image(ax, IMAGES[TRAINING].mean(0))
        for patch, times in Counter(patches).items():
            left, top = 2 * (patch % SIDE) - 0.5, 2 * (patch // SIDE) - 0.5
            looks = {"fill": False, "ec": GRADIENT_COLOUR, "lw": 3, "clip_on": False, "zorder": 3}
            ax.add_patch(Rectangle((left, top), 2, 2, **looks))
            if times > 1:
                box = {"fc": "white", "ec": "none", "pad": 1}
                ax.text(left + 1, top + 1, f"{times}×", ha="center", va="center", bbox=box)
        ax.set_title(title)
    figure.summary = "; ".join(
        f"{title}: patches {', '.join(map(str, patches))}" for title, patches in chosen.items()
    )
    return figure


def show_codebook(panels: Mapping[str, tuple[torch.Tensor, torch.Tensor]]) -> Picture:
    """Draw vectors z of shape (n, 2) as points, and codes of shape (k, 2) as marks.

    A code that is nearest to some z is a square, one that is nearest to none a cross.

    panels  {title: (z, codes)}

    >>> codes = torch.tensor([[0.0, 0.0], [9.0, 9.0]])
    >>> show_codebook({"at first": (torch.zeros(3, 2), codes)}).summary
    'at first: 1 of 2 codes used'
    """
    figure, texts = Picture(8, 3.9), []
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, (z, codes)) in zip(axes, panels.items(), strict=True):
        used = torch.zeros(len(codes), dtype=torch.bool)
        used[torch.cdist(z, codes).argmin(1)] = True
        looks = {"ls": "", "mec": "white", "ms": 11}
        points = ax.plot(*z.T.numpy(), ".", color="#999999", ms=3)
        squares = ax.plot(*codes[used].T.numpy(), marker="s", color=VALUE_COLOUR, **looks)
        crosses = ax.plot(*codes[~used].T.numpy(), marker="X", color=GRADIENT_COLOUR, **looks)
        ax.set(title=title, xlabel="z1", ylabel="z2")
        texts.append(f"{title}: {used.sum()} of {len(codes)} codes used")
    figure.legend_below(
        [*points, *squares, *crosses], ["images", "codes in use", "dead codes"], columns=3
    )
    figure.summary = "; ".join(texts)
    return figure


def _images(images, columns) -> tuple[Picture, list[Axes]]:
    """The figure, and its axes, one for each image and some more to fill the last line."""
    lines = -(-len(images) // columns)
    figure = Picture(8, 9.5 / columns * lines)
    axes = figure.subplots(lines, columns, squeeze=False).flatten()
    for ax in axes:
        ax.axis("off")
    for ax, image in zip(axes, images, strict=False):
        _draw_image(ax, image)
    return figure, axes


def _draw_image(ax, image):
    ax.imshow(image.reshape(8, 8).numpy(), cmap="gray_r", vmin=0, vmax=1, interpolation="none")
