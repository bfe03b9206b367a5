"""Boxes and links as a picture: the autograd graph, and what a backward did in it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from autograd_surprises.graph import autograd_graph
from autograd_surprises.show.colours import BLUE, INK, VERMILION

if TYPE_CHECKING:  # the boxes alone need no matplotlib
    from autograd_surprises.show.picture import Picture

PURPLE, OCHRE, GREY = "#a3457d", "#9a6a00", "#888888"
SQUARE, ROUND = "square,pad=0.45", "round,pad=0.5,rounding_size=0.9"
SAW, WAVES = "sawtooth,pad=0.7,tooth_size=0.25", "roundtooth,pad=0.7"
# kind: shape, fill, border, width of the border, its line
LOOKS = {
    "flows": (SQUARE, "#ffffff", BLUE, 0.7, "-"),
    "partial": (SQUARE, "#fdf2c4", OCHRE, 1.4, "-"),
    "dies": (SAW, "#fbd5bd", VERMILION, 2.1, "-"),
    "dead": (SQUARE, "#eeeeee", GREY, 0.7, "--"),
    "not finite": (WAVES, "#f3d4e6", PURPLE, 2.1, "-"),
    "carries": (SQUARE, "#f9ecf3", PURPLE, 0.7, "-"),
    "folded": (SQUARE, "#ffffff", GREY, 0.7, ":"),
    "leaf": (ROUND, "#d9ecf8", BLUE, 1.4, "-"),
    "empty leaf": (ROUND, "#eeeeee", VERMILION, 1.4, "--"),
    "spoiled leaf": (ROUND, "#f9ecf3", PURPLE, 1.4, "-"),
    "cut": (ROUND, "#ffffff", VERMILION, 1.4, "--"),
}
ROW_GAP, GAP, MARGIN = 0.38, 0.35, 0.15  # inches: between rows, between boxes, around all
WIDE = 9.0  # inches, about what a notebook shows without shrinking it


@dataclass(frozen=True)
class Box:
    """A box of the picture: its kind, one of LOOKS, and the lines of its text."""

    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """From the box at position `upper` to the one at `lower`. Does a gradient flow along it?"""

    upper: int
    lower: int
    flows: bool = True


@dataclass(frozen=True, repr=False)
class BoxGraph:
    """Boxes and links, as a picture in a notebook and as text elsewhere.

    hidden  the number of steps that are not drawn

    >>> BoxGraph((Box("flows", ("MulBackward0", "in 1")), Box("leaf", ("x",))), (Link(0, 1),))
    MulBackward0 · in 1 · then x
    x
    """

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    hidden: int = 0

    @property
    def summary(self) -> str:
        """The boxes as text, each with the first lines of those that it leads to."""
        rows = []
        for i, box in enumerate(self.boxes):
            below = [self.boxes[link.lower] for link in self.links if link.upper == i]
            names = "; ".join(each.lines[0] + " (cut off)" * (each.kind == "cut") for each in below)
            rows.append(" · ".join(box.lines) + (f" · then {names}" if names else ""))
        if self.hidden:
            rows.append(f"{self.hidden} more steps are not drawn")
        return "\n".join(rows)

    __repr__ = summary.fget

    def _repr_mimebundle_(self, include=None, exclude=None):
        return draw(self)._repr_mimebundle_()


def plot_graph(result: torch.Tensor, *, title: str = "", **names: torch.Tensor) -> Picture:
    """Draw the autograd graph behind `result`: the result on top, the leaves at the bottom.

    `names` give tensors their names in the picture. A rounded blue box is a leaf, whose .grad
    backward fills; any other box is a step of backward.

    >>> w = torch.ones(2, requires_grad=True)
    >>> print(plot_graph((w * 3).sum(), w=w).summary)
    SumBackward0 · then MulBackward0
    MulBackward0 · then w
    w · leaf
    """
    nodes = autograd_graph(result)
    links = [Link(i, below) for i, node in enumerate(nodes) for below in node.inputs]
    boxes = [_box_of(node, names) for node in nodes]
    return draw(BoxGraph(tuple(boxes), tuple(links)), title)


def _box_of(node, names):
    if node.leaf is not None:
        name = next((name for name, tensor in names.items() if tensor is node.leaf), "unnamed")
        return Box("leaf", (name, "leaf"))
    made = [name for name, tensor in names.items() if tensor.grad_fn is node.function]
    return Box("flows", (*made[:1], node.name))


def draw(graph: BoxGraph, title: str = "") -> Picture:
    """The boxes and links as a picture, the first box on top; its summary says the same.

    >>> draw(BoxGraph((Box("leaf", ("x",)),), ())).summary
    'x'
    """
    from autograd_surprises.show.picture import Picture

    figure = Picture(1, 1)
    figure.set_layout_engine("none")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.axis("off")
    heading = ax.set_title(title, fontsize=11, color=INK)
    texts = [_text(ax, box) for box in graph.boxes]
    rows, ways = arranged(graph)
    for letters in (60, 30, 15):  # to a line of text, until the rows are short enough
        for text, box in zip(texts, graph.boxes, strict=True):
            text.set_text("\n".join(textwrap.fill(line, letters) for line in box.lines))
        figure.draw_without_rendering()  # then texts and boxes know their size
        sizes = [_size(figure, text.get_bbox_patch()) for text in texts]
        spots, width, height = _placed(rows, sizes)
        if width <= WIDE:
            break
    width = max(width, _size(figure, heading)[0])
    head = 0.35 if title else 0
    figure.set_size_inches(width + 2 * MARGIN, height + head + 2 * MARGIN)
    ax.set_position((0, 0, 1, 1 - head / figure.get_figheight()))
    ax.set(xlim=(-width / 2 - MARGIN, width / 2 + MARGIN), ylim=(-height - MARGIN, MARGIN))
    for i, text in enumerate(texts):
        text.set_position((spots[i].x, (spots[i].top + spots[i].bottom) / 2))
    for link, way in zip(graph.links, ways, strict=True):
        cut = graph.boxes[link.lower].kind == "cut"
        _draw_link(ax, link.flows, cut, [spots[stop] for stop in way])
    figure.summary = graph.summary
    return figure


def _text(ax, box):
    shape, fill, border, width, line = LOOKS[box.kind]
    look = {"boxstyle": shape, "fc": fill, "ec": border, "lw": width, "ls": line}
    plain = {"fontsize": 9, "color": INK, "parse_math": False}  # code may contain $ signs
    return ax.text(0, 0, "", ha="center", va="center", bbox=look, **plain)


def _size(figure, artist):
    """Width and height in inches."""
    extent = artist.get_window_extent()
    return extent.width / figure.dpi, extent.height / figure.dpi


class _Spot(NamedTuple):
    """Where a box, or a link that passes by, is in its row, in inches. `floor` ends the row."""

    x: float
    top: float
    bottom: float
    floor: float


def _placed(rows, sizes):
    """The spot of each box and stop, and the width and height of all."""
    boxes = [[sizes[stop] if isinstance(stop, int) else (0, None) for stop in row] for row in rows]
    widths = [sum(width for width, _ in row) + GAP * (len(row) - 1) for row in boxes]
    spots, top = {}, 0.0
    for row, each, width in zip(rows, boxes, widths, strict=True):
        left, floor = -width / 2, top - max(height for _, height in each if height)
        for stop, (wide, tall) in zip(row, each, strict=True):
            spots[stop] = _Spot(left + wide / 2, top, top - tall if tall else floor, floor)
            left += wide + GAP
        top = floor - ROW_GAP
    return spots, max(widths), -floor


def _draw_link(ax, flows, cut, spots):
    """From the bottom of a box to the top of another; slanted between two rows only."""
    first, *passed, last = spots
    points = [(first.x, first.bottom), (first.x, first.floor)]
    points += [(spot.x, y) for spot in passed for y in (spot.top, spot.floor)]
    points.append((last.x, last.top))
    colour = VERMILION if cut else INK if flows else GREY
    look = {"color": colour, "linestyle": "-" if flows else "--"}
    ax.plot(*zip(*points[:-1], strict=True), linewidth=1, **look)
    head = {"arrowstyle": "-" if cut else "-|>", "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", points[-1], points[-2], arrowprops={**head, **look})
    if cut:
        middle = [(a + b) / 2 for a, b in zip(*points[-2:], strict=True)]
        ax.plot(*middle, marker="x", markersize=8, markeredgewidth=2.5, color=colour)


def arranged(graph: BoxGraph) -> tuple[list[list], list[list]]:
    """Rows of boxes, each below all that link to it, and for each link the stops along it.

    A link that passes rows has one stop in each of them: (link, row).

    >>> arranged(BoxGraph((Box("flows", ("y",)), Box("leaf", ("x",))), (Link(0, 1),)))
    ([[0], [1]], [[0, 1]])
    """
    above: list[list[int]] = [[] for _ in graph.boxes]
    for link in graph.links:
        above[link.lower].append(link.upper)
    depth: dict = {}
    waiting = list(range(len(graph.boxes)))
    while waiting:
        i = waiting.pop(0)
        if all(upper in depth for upper in above[i]):
            depth[i] = 1 + max((depth[upper] for upper in above[i]), default=-1)
        else:
            waiting.append(i)
    bottom = max(depth.values())
    depth.update({i: bottom for i, uppers in enumerate(above) if not uppers and i > 0})  # loose
    ways = []
    for k, link in enumerate(graph.links):
        passed = range(depth[link.upper] + 1, depth[link.lower])
        ways.append([link.upper, *((k, row) for row in passed), link.lower])
    depth.update((stop, stop[1]) for way in ways for stop in way[1:-1])
    before: dict = {stop: [] for stop in depth}
    for way in ways:
        for start, end in zip(way, way[1:], strict=False):
            before[end].append(start)
    rows = [[stop for stop in depth if depth[stop] == row] for row in range(bottom + 1)]
    place: dict = {}
    for row in rows:  # below the middle of what leads to it
        row.sort(key=lambda stop: sum(place[b] for b in before[stop]) / max(1, len(before[stop])))
        place.update((stop, k - (len(row) - 1) / 2) for k, stop in enumerate(row))
    return rows, ways
