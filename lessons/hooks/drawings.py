"""Images, and maps that say which of their pixels speak for a class."""

from collections.abc import Mapping

import torch

from autograd_surprises.show.colours import GRID_GREY
from lessons.drawings.panel import PanelDrawing

LEVELS = 8  # of a map: more could not be told apart
CELLS = {"vmin": 0, "vmax": 1, "interpolation": "none"}


class ImageMapsDrawing(PanelDrawing):
    """An image beside its maps for the class that is asked for, each with its strongest pixel.

    images  of shape (images, height, width), from 0 (paper) to 1 (ink)
    maps    {title: of shape (images, classes, height, width)}; what is below 0 is drawn as 0, and
            each map is drawn relative to its own strongest pixel

    >>> maps = {"the ink": torch.eye(2).expand(1, 3, 2, 2)}
    >>> ImageMapsDrawing(torch.eye(2)[None], maps).show(asked=2)
    'image 0, asked for a 2: strongest in the ink at row 1, column 1'
    """

    name = "Which pixels speak for a class"

    def __init__(self, images: torch.Tensor, maps: Mapping[str, torch.Tensor]):
        self._images, self._maps = images, dict(maps)
        axes = self.panels(8, 3.1, "the image", *maps, grid="")
        image_ax, *map_axes = axes
        self._image = self.add(image_ax.imshow(images[0].numpy(), cmap="gray_r", **CELLS))
        self._cells = [
            self.add(ax.imshow(images[0].numpy(), cmap="Oranges", **CELLS)) for ax in map_axes
        ]
        mark = {"mfc": "white", "mec": "black", "ms": 9, "mew": 1.5}
        self._marks = [self.line(ax, "white", "o", **mark) for ax in map_axes]
        for ax in axes:
            ax.set(xticks=[], yticks=[], navigate=False)
            ax.spines[:].set_color(GRID_GREY)
        self._words = [self.words(ax, 0.5, 0.5, transform=ax.transAxes) for ax in map_axes]
        self.legend({"strongest pixel": self._marks[0]})

    def show(self, image=0, asked=0):
        self._image.set_data(self._images[image].numpy())
        parts = zip(self._cells, self._marks, self._words, self._maps.items(), strict=True)
        texts = [
            self._show_map(cells, mark, word, title, maps[image, asked].clamp_min(0))
            for cells, mark, word, (title, maps) in parts
        ]
        return f"image {image}, asked for a {asked}: {'; '.join(texts)}"

    def _show_map(self, cells, mark, word, title, shown):
        word.set_text("" if shown.any() else "empty")
        if not shown.any():
            cells.set_data(shown.numpy())
            mark.set_data([], [])
            return f"{title} is empty"
        row, column = divmod(int(shown.argmax()), shown.shape[1])
        cells.set_data((shown / shown.max() * LEVELS).round().numpy() / LEVELS)
        mark.set_data([column], [row])
        return f"strongest in {title} at row {row + 1}, column {column + 1}"
