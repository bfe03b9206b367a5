"""What the doctor says of one step of a small network, at different settings."""

import textwrap

import torch
import torch.nn.functional as F
from torch import nn

from autograd_surprises import trace
from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, GREEN, RED
from autograd_surprises.symptoms.finding import COLOURS, NORMAL, STATUS_TEXTS
from lessons.digits import IMAGES, LABELS, TRAINING
from lessons.drawings.panel import PanelDrawing, set_each

ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid}
LAYERS = {"first": (64, 32), "second": (32, 32), "last": (32, 10)}
STEPS = 10
LOWEST, HIGHEST = 1e-9, 1e3  # sizes of a gradient between which a bar has its own length
BATCH = TRAINING[:128]


class Reader(nn.Module):
    """Three layers for the digits. Each weight starts as a random number times `weights`."""

    def __init__(self, activation, weights):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        generator = torch.Generator().manual_seed(0)
        for name, (inputs, outputs) in LAYERS.items():
            layer = nn.Linear(inputs, outputs)
            start = torch.randn(outputs, inputs, generator=generator) / inputs**0.5
            layer.weight.data, layer.bias.data = weights * start, torch.zeros(outputs)
            self.add_module(name, layer)

    def forward(self, images):
        hidden = self.activation(self.first(images.flatten(1)))
        return self.last(self.activation(self.second(hidden)))


class VerdictDrawing(PanelDrawing):
    """The mean |gradient| of each tensor of a network, and what the doctor says of it.

    The network is trained on one batch by SGD with this learning rate, for `step` steps, and the
    doctor examines the next one. `weights` is what the initial weights are multiplied by.

    >>> VerdictDrawing().show(activation="relu", lr=10.0).split(": ")[1]
    'ZERO first.weight, first.bias, second.weight, second.bias, last.weight'
    """

    name = "What the doctor says of a step"

    def __init__(self):
        (ax,) = self.panels(8, 3.6, "", grid="x")
        self._names = [f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias")]
        places = range(len(self._names))
        self._bars = self.bars(ax, places, 0.55, flat=True, left=LOWEST, color=GRADIENT_COLOUR)
        ax.set(xscale="log", xlim=(LOWEST, HIGHEST), xlabel="mean |gradient|", navigate=False)
        ax.set_yticks(places, self._names)
        ax.set_ylim(len(self._names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        look = {"ha": "right", "fontsize": 10}
        self._statuses = [self.words(ax, HIGHEST / 2, y, **look) for y in places]
        look = {"ha": "left", "va": "top", "fontsize": 10, "linespacing": 1.3, "parse_math": False}
        self._words = self.words(ax, 2 * LOWEST, -0.2, **look)
        self._words.set_bbox({"fc": "white", "ec": RED, "boxstyle": "round,pad=0.4"})

    def show(self, activation="tanh", lr=1.0, weights=1.0, step=STEPS):
        model = Reader(activation, weights)
        optimizer = torch.optim.SGD(model.parameters(), lr)
        for _ in range(step):
            _loss_of(model).backward()
            optimizer.step()
            optimizer.zero_grad()
        with trace() as recorded:
            loss = _loss_of(model)
        report = recorded.explain(loss, model, optimizer=optimizer)
        sizes = torch.autograd.grad(loss, list(model.parameters()))
        self._draw([size.abs().mean().item() for size in sizes], report)
        start = f"loss {short_number(loss.item(), 3)}"
        bad = self._bad(report)
        if not bad:
            return f"{start}: healthy"
        first = report[bad[0]]
        return f"{start}: {_status(first)} {', '.join(bad)}: {first.sentence}"

    def _draw(self, sizes, report):
        lengths = [min(size, HIGHEST) - LOWEST if size > LOWEST else 0 for size in sizes]
        set_each(self._bars, width=lengths)
        for text, name in zip(self._statuses, self._names, strict=True):
            finding = report[name]
            if finding.status in NORMAL:
                text.set(text="ok", color=GREEN)
            else:
                text.set(text=_status(finding), color=COLOURS.get(finding.status, RED))
        bad = self._bad(report)
        self._words.set_visible(bool(bad))
        if bad:  # in the empty place beside the first of them
            self._words.set_y(self._names.index(bad[0]) - 0.2)
            self._words.set_text(textwrap.fill(report[bad[0]].sentence, 46))

    def _bad(self, report):
        return [name for name in self._names if report[name].status not in NORMAL]


def _status(finding):
    return STATUS_TEXTS[finding.status] + ("" if finding.alarm else " (normal)")


def _loss_of(model):
    return F.cross_entropy(model(IMAGES[BATCH]), LABELS[BATCH])
