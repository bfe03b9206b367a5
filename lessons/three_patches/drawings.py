"""From a mixture of patches to a choice, and how much networks read on the way."""

from collections.abc import Callable, Mapping

import torch
from torch import nn

from autograd_surprises.show.colours import GRADIENT_COLOUR, GRID_GREY, INK, VALUE_COLOUR
from helpers.curves.axes import DASHED
from lessons.drawings.panel import PanelDrawing

SHARPEST = 20


class SharperMixtureDrawing(PanelDrawing):
    """On the left the weights of the 16 patches, on the right what each network reads with them.

    scores        of the looks, shape (looks, 16); their weights are softmax(sharpness · scores)
    networks      {name: a network}; the first two are drawn
    percent_read  takes a network and weights

    >>> SharperMixtureDrawing(torch.zeros(3, 16), {"one": None}, lambda *_: 50.0).show(sharpness=2)
    'one reads 50.0 %; its largest weight is 0.06'
    """

    name = "From a mixture to a choice"

    def __init__(
        self,
        scores: torch.Tensor,
        networks: Mapping[str, nn.Module],
        percent_read: Callable[[nn.Module, torch.Tensor], float],
    ):
        self._weights = [(k * scores).softmax(-1) for k in range(1, SHARPEST + 1)]
        self._read = {
            name: [percent_read(network, weights) for weights in self._weights]
            for name, network in networks.items()
        }
        titles = "weight of each patch", "% of the held-out digits that are read"
        layout = {"grid": ("", "both"), "width_ratios": [1, 1.9]}
        patches, curves = self.panels(8, 3.4, *titles, **layout)
        look = {"cmap": "Oranges", "vmin": 0, "vmax": 1, "interpolation": "none"}
        self._cells = self.add(patches.imshow(torch.zeros(4, 4).numpy(), **look))
        patches.set(xticks=[], yticks=[], navigate=False)
        patches.spines[:].set_color(GRID_GREY)
        curves.set(xlim=(0, SHARPEST + 1), ylim=(30, 100), xticks=[1, 5, 10, 15, 20])
        curves.set_xlabel("sharpness")
        looks = (GRADIENT_COLOUR, "-"), (VALUE_COLOUR, DASHED)
        self._dots, places = [], range(1, SHARPEST + 1)
        for (name, read), (colour, style) in zip(self._read.items(), looks, strict=False):
            curves.plot(places, read, label=name, gid=name, color=colour, ls=style)
            self._dots.append(self.line(curves, colour, "o", ms=9, mec=colour))
        trained, *_ = next(iter(self._read.values()))
        arrow = {"arrowstyle": "->", "color": INK}
        place = {"xytext": (2.5, 95), "va": "center", "arrowprops": arrow}
        curves.annotate("what it was trained with", (1, trained + 2), **place)
        self._says = self.words(curves, SHARPEST / 2, 36)
        self.figure.legend_below(columns=len(self._dots))

    def show(self, sharpness=1):
        weights = self._weights[sharpness - 1]
        self._cells.set_data(weights.sum(0).clamp(max=1).view(4, 4).numpy())
        read = {name: percents[sharpness - 1] for name, percents in self._read.items()}
        for dot, percent in zip(self._dots, read.values(), strict=False):
            dot.set_data([sharpness], [percent])
        shown = ", ".join(f"{name} {percent:.0f} %" for name, percent in read.items())
        self._says.set_text(f"at {sharpness}: {shown}")
        texts = [f"{each} reads {percent:.1f} %" for each, percent in read.items()]
        return f"{', '.join(texts)}; its largest weight is {weights.max():.2f}"
