"""Stored trainings in few bits: the loss, and the gradient of each layer."""

import json
import math
from importlib.resources import files

from autograd_surprises.numerics import few_digits
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from lessons.drawings.panel import PanelDrawing

STORED = json.loads(files("lessons").joinpath("measured/trainings.json").read_text("utf-8"))
LAYERS = {
    "first layer": (VALUE_COLOUR, {"ls": "-", "marker": "o"}),
    "second": (GRADIENT_COLOUR, {"ls": "--", "marker": "s"}),
    "last": (SLOPE_COLOUR, {"ls": ":", "marker": "^"}),
}
SMALL = 1e-5  # gradients are drawn on a logarithmic axis above, and on a linear one down to 0


class TrainingDrawing(PanelDrawing):
    """On the left the loss of a training so far, on the right the mean |gradient| of each layer.

    >>> TrainingDrawing().show(bits=2, method="default gradient", trained=10)
    'loss 2.4; mean |gradient|: 0, 0, 0'
    """

    name = "A training in few bits"

    def __init__(self):
        runs = STORED["digits"]
        self._runs = {(r["bits"], r["method"], r["learning rate"]): r for r in runs}
        loss, gradients = self.panels(8, 3.6, "loss", "mean |gradient| of a weight")
        for ax in (loss, gradients):
            ax.set(xlabel="trained, %", xlim=(0, 102))
        loss.set(yscale="log", ylim=(1e-3, 1e2))
        loss.axhline(math.log(10), color=SLOPE_COLOUR, ls="--", lw=1)
        loss.text(99, 4, "guessing: ln 10", ha="right", va="bottom")
        gradients.set_yscale("symlog", linthresh=SMALL, linscale=0.5)
        gradients.set(ylim=(-SMALL / 3, 1.0), yticks=[0, *(10.0**k for k in range(-5, 1))])
        gradients.minorticks_off()
        self._loss = self.line(loss, VALUE_COLOUR)
        layers = {
            name: self.line(gradients, colour, ms=4, **look)
            for name, (colour, look) in LAYERS.items()
        }
        self._layers = list(layers.values())
        self.legend(layers)

    def show(self, bits=2, method="straight-through", learning_rate=0.2, trained=100):
        run = self._runs[bits, method, learning_rate]
        done = max(1, round(trained / 100 * len(run["losses"])))
        ends = [100 * (k + 1) / len(run["losses"]) for k in range(done)]
        self._loss.set_data(ends, run["losses"][:done])
        for line, sizes in zip(self._layers, zip(*run["gradients"], strict=True), strict=True):
            line.set_data(ends, sizes[:done])
        sizes = ", ".join(few_digits(size, 2) for size in run["gradients"][done - 1])
        said = f"loss {few_digits(run['losses'][done - 1], 2)}; mean |gradient|: {sizes}"
        read = f"{run['read']:.1f} % of the held-out digits are read right"
        return f"{said}; {read}" if done == len(run["losses"]) else said
