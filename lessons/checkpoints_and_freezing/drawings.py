"""What the graph of a deep network keeps for backward, with checkpoints around some blocks each."""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from lessons.drawings.panel import HATCHED, PanelDrawing
from lessons.saved_tensors import saved_tensors


class CheckpointsDrawing(PanelDrawing):
    """Bars of the kilobytes that the graph keeps: without checkpoints, and with one around so many
    blocks. Those of the blocks that backward computes again are added, because they are there, too,
    while it is inside them.

    blocks  each adds its result to its input
    x       the input of the first one

    >>> blocks = [nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)) for _ in range(4)]
    >>> CheckpointsDrawing(blocks, torch.ones(250, 4)).show(blocks_each=4)
    'plain 81 kB; checkpoints around 4 blocks: 4 kB kept, and 81 kB inside one: at most 85 kB'
    """

    name = "Kept for backward"

    def __init__(self, blocks: Sequence[nn.Module], x: torch.Tensor):
        self._blocks, self._x = list(blocks), x
        self._plain = _kilobytes(lambda: _run(self._blocks, x))
        (ax,) = self.panels(8, 2.8, "", grid="x")
        ax.set(xlim=(0, 1.15 * self._plain), ylim=(1.75, -0.9), xlabel="kB")
        ax.set_yticks([0, 1], ["plain", "checkpoints"])
        solid = {"fc": VALUE_COLOUR, "ec": VALUE_COLOUR}
        ax.barh([0], [self._plain], 0.6, **solid)
        (self._kept,) = self.bars(ax, [1], flat=True, **solid)
        (self._inside,) = self.bars(ax, [1], flat=True, **{**HATCHED, "ec": GRADIENT_COLOUR})
        self._says = self.words(ax, 0.5, 0.93, transform=ax.transAxes, va="top")
        again = "computed again, one checkpoint at a time"
        self.legend({"kept until backward": self._kept, again: self._inside})

    def show(self, blocks_each=1):
        starts = range(0, len(self._blocks), blocks_each)
        groups = [self._blocks[start : start + blocks_each] for start in starts]
        kept = _kilobytes(lambda: _run_in_checkpoints(groups, self._x))
        inside = max(_kilobytes(lambda group=group: _run(group, self._x)) for group in groups)
        self._kept.set_width(kept)
        self._inside.set(x=kept, width=inside)
        most = kept + inside
        less = f"at most {most / self._plain:.0%} at once"
        self._says.set_text(less if most < self._plain else "no less than without any")
        return (
            f"plain {self._plain:.0f} kB; checkpoints around {blocks_each} blocks: {kept:.0f} kB "
            f"kept, and {inside:.0f} kB inside one: at most {most:.0f} kB"
        )


def _run(blocks, x):
    for block in blocks:
        x = x + block(x)
    return x


def _run_in_checkpoints(groups, x):
    for group in groups:
        x = checkpoint(_run, group, x, use_reentrant=False)
    return x


def _kilobytes(run: Callable[[], torch.Tensor]) -> float:
    with saved_tensors() as saved:
        _graph = run()  # kept, or nothing would be left to count
    return saved.bytes / 1000
