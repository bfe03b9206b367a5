"""How much gradient reaches each layer of a saturated network."""

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR
from lessons.derivatives import derivatives
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each

ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu}
LAYERS, SAMPLES, UNITS = 8, 4, 16
LOWEST = 1e-15  # the lowest gradient that is drawn at its height
SMALLER_AT, ZERO_AT = LOWEST / 10, LOWEST / 100  # where smaller ones are drawn, and 0
FLAT_BELOW = 0.01  # a unit is flat if its slope is a smaller share of the steepest slope


class SaturationDrawing(PanelDrawing):
    """On the left the mean |gradient| at each layer, on the right the share of its flat units.

    The network is fixed: eight layers, each with its own input, as in a recurrent network,
    h = activation(h @ weight + scale * input). The loss is a weighted sum of the last h. The
    gradient is taken before each activation, relative to its size at the loss.

    >>> SaturationDrawing().show(activation="relu", scale=5.0)
    'the gradient reaches layer 1 with 0.08 of its size at the loss; 52 % of the units are flat'
    """

    name = "How much gradient reaches each layer"

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        weights = torch.randn(LAYERS, UNITS, UNITS, generator=generator)
        self._weights = weights / UNITS**0.5  # so that a layer keeps the size of its input
        self._inputs = torch.randn(LAYERS, SAMPLES, UNITS, generator=generator)
        self._upstream = torch.randn(SAMPLES, UNITS, generator=generator)
        self._draw_frame()

    def _draw_frame(self):
        layers = range(1, LAYERS + 1)
        titles = "size of the gradient (at the loss: 1)", "flat units"
        gradients, flat = self.panels(8, 3.4, *titles, grid="y", width_ratios=[1.4, 1])
        self._bars = self.bars(flat, layers, 0.7, **HATCHED)
        for ax in (gradients, flat):
            ax.set(xlabel="layer", xticks=layers, xlim=(0.4, LAYERS + 0.6))
        gradients.set(yscale="log", ylim=(ZERO_AT / 3, 30))
        powers = range(-15, 1, 3)
        gradients.set_yticks([ZERO_AT, *(10.0**k for k in powers)])
        gradients.set_yticklabels(["0", *(f"$10^{{{k}}}$" if k else "1" for k in powers)])
        gradients.set_yticks([], minor=True)
        gradients.axhspan(
            ZERO_AT / 3, (SMALLER_AT * ZERO_AT) ** 0.5, color=SLOPE_COLOUR, alpha=0.12, lw=0
        )
        flat.set(ylim=(0, 100), yticks=range(0, 101, 25))
        flat.yaxis.set_major_formatter("{x:.0f} %")
        self._line = self.line(gradients, GRADIENT_COLOUR, lw=1.2)
        marks = {
            "mean |gradient|": self.line(gradients, GRADIENT_COLOUR, "o", ms=9),
            f"less than {LOWEST:.0e}": self.line(gradients, GRADIENT_COLOUR, "v", ms=9),
            "exactly 0": self.line(gradients, SLOPE_COLOUR, "X", ms=9),
        }
        self._dots, self._small, self._zeros = marks.values()
        self._end = self.words(gradients, 0.6, 1e-13, ha="left", va="bottom", fontsize=10)
        flat_means = f"slope below {100 * FLAT_BELOW:.0f} % of the steepest"
        self.legend({**marks, flat_means: self._bars[0]})

    def show(self, activation="tanh", scale=10.0):
        sizes, flat = self._measure(activation, scale)
        heights = [size if size >= LOWEST else SMALLER_AT if size else ZERO_AT for size in sizes]
        self._line.set_data(range(1, LAYERS + 1), heights)
        for dots, belongs in (
            (self._dots, lambda size: size >= LOWEST),
            (self._small, lambda size: 0 < size < LOWEST),
            (self._zeros, lambda size: size == 0),
        ):
            places = [k for k, size in enumerate(sizes) if belongs(size)]
            dots.set_data([k + 1 for k in places], [heights[k] for k in places])
        set_each(self._bars, height=[100 * share for share in flat])
        zeros = [k for k, size in enumerate(sizes, 1) if size == 0]
        self._end.set_text("exactly 0 here" if zeros else "")
        units = f"{100 * sum(flat) / LAYERS:.0f} % of the units are flat"
        if sizes[0]:
            reached = f"{sizes[0]:.1g} of its size at the loss"
            return f"the gradient reaches layer 1 with {reached}; {units}"
        return f"the gradient is exactly 0 from layer {zeros[-1]} down to layer 1; {units}"

    def _measure(self, activation, scale):
        """Two lists with a number for each layer: the gradient's size, the share of flat units."""
        function, before = ACTIVATIONS[activation], []
        steepest = derivatives(function, torch.tensor([0.0, 1.0]), 1)[1].max()
        hidden = torch.zeros_like(self._upstream)
        for weight, inputs in zip(self._weights, self._inputs, strict=True):
            before.append((hidden @ weight + scale * inputs).requires_grad_())
            hidden = function(before[-1])
        gradients = torch.autograd.grad(hidden, before, self._upstream)
        sizes = torch.stack([gradient.abs().mean() for gradient in gradients])
        slopes = torch.stack([derivatives(function, each, 1)[1] for each in before])
        flat = (slopes < FLAT_BELOW * steepest).float().mean((1, 2))
        return (sizes / self._upstream.abs().mean()).tolist(), flat.tolist()
