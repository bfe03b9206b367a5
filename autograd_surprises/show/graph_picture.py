"""Boxes and links as a picture: the autograd graph, and what a backward did in it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

import torch

from autograd_surprises.facts.graph import autograd_graph
from autograd_surprises.show.colours import (
    BLUE,
    GRAPH_OCHRE,
    GRAPH_PURPLE,
    INK,
    LINE_GREY,
    VERMILION,
)
from autograd_surprises.show.notebooks_extra import notebooks_extra

if TYPE_CHECKING:  # the boxes alone need no matplotlib
    from autograd_surprises.show.picture import Picture

SQUARE, ROUND = "square,pad=0.45", "round,pad=0.5,rounding_size=0.9"
SAW, WAVES = "sawtooth,pad=0.7,tooth_size=0.25", "roundtooth,pad=0.7"
# kind: shape, fill, border, width of the border, its line
LOOKS = {
    "flows": (SQUARE, "#ffffff", BLUE, 0.7, "-"),
    "partial": (SQUARE, "#fdf2c4", GRAPH_OCHRE, 1.4, "-"),
    "dies": (SAW, "#fbd5bd", VERMILION, 2.1, "-"),
    "dead": (SQUARE, "#e2e2e2", LINE_GREY, 0.7, "--"),
    "not finite": (WAVES, "#f3d4e6", GRAPH_PURPLE, 2.1, "-"),
    "carries": (SQUARE, "#f9ecf3", GRAPH_PURPLE, 0.7, "-"),
    "folded": (SQUARE, "#ffffff", LINE_GREY, 0.7, ":"),
    "leaf": (ROUND, "#d9ecf8", BLUE, 1.4, "-"),
    "empty leaf": (ROUND, "#e2e2e2", VERMILION, 1.4, "--"),
    "spoiled leaf": (ROUND, "#f3d4e6", GRAPH_PURPLE, 1.4, "-"),
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
        try:
            return draw(self)._repr_mimebundle_()
        except ModuleNotFoundError as error:
            return {"text/plain": f"{self.summary}\n\nThe picture needs more: {error}"}


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
    """The boxes and links as a picture, the first box on top; its summary says the same."""
    with notebooks_extra():
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
        spots, width, height = placed(rows, sizes)
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


class Spot(NamedTuple):
    """Where a box, or a link that passes by, is in its row, in inches. `floor` ends the row."""

    x: float
    top: float
    bottom: float
    floor: float


def placed(
    rows: Sequence[Sequence],
    sizes: Sequence[tuple[float, float]],
    ways: Sequence[Sequence] = (),
    row_gap: float = ROW_GAP,
) -> tuple[dict[object, Spot], float, float]:
    """The spot of each box and stop of `arranged` rows, and the width and height of all.

    With the `ways`, each box is below what leads to it; else each row is in the middle.

    >>> spots, width, height = placed([[0], [1]], [(1.0, 0.5), (2.0, 0.5)])
    >>> spots[1].x, round(spots[1].top, 2), width
    (0.0, -0.88, 2.0)
    """
    wide = {stop: sizes[stop][0] if isinstance(stop, int) else 0 for row in rows for stop in row}
    x = _below_each_other(rows, wide, ways) if ways else _in_the_middle(rows, wide)
    left = min(x[stop] - wide[stop] / 2 for stop in x)
    right = max(x[stop] + wide[stop] / 2 for stop in x)
    spots, top = {}, 0.0
    for row in rows:
        tall = {stop: sizes[stop][1] for stop in row if isinstance(stop, int)}
        floor = top - max(tall.values())
        for stop in row:
            middle = x[stop] - (left + right) / 2
            spots[stop] = Spot(middle, top, top - tall[stop] if stop in tall else floor, floor)
        top = floor - row_gap
    return spots, right - left, -floor


def _in_the_middle(rows, wide):
    x = {}
    for row in rows:
        left = -(sum(wide[stop] for stop in row) + GAP * (len(row) - 1)) / 2
        for stop in row:
            x[stop] = left + wide[stop] / 2
            left += wide[stop] + GAP
    return x


def _below_each_other(rows, wide, ways):
    """Each in the middle of what leads to it, as far as there is room, and nothing overlaps."""
    before = _linked_before(wide, ways)
    x: dict = {}
    for row in rows:
        wanted, found, right = [], [], -math.inf
        for stop in row:
            above = [x[each] for each in before[stop]]
            wanted.append(sum(above) / len(above) if above else max(0.0, right))
            found.append(max(wanted[-1], right + wide[stop] / 2))
            right = found[-1] + wide[stop] / 2 + GAP
        shift = sum(a - b for a, b in zip(wanted, found, strict=True)) / len(row)
        x.update((stop, place + shift) for stop, place in zip(row, found, strict=True))
    return x


def points_along(spots: Sequence[Spot]) -> list[tuple[float, float]]:
    """The corners of a link that has these spots along it: slanted between two rows only."""
    first, *passed, last = spots
    points = [(first.x, first.bottom), (first.x, first.floor)]
    points += [(spot.x, y) for spot in passed for y in (spot.top, spot.floor)]
    return [*points, (last.x, last.top)]


def _draw_link(ax, flows, cut, spots):
    """From the bottom of a box to the top of another."""
    points = points_along(spots)
    colour = VERMILION if cut else INK if flows else LINE_GREY
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
    linked = {0, *(link.upper for link in graph.links), *(link.lower for link in graph.links)}
    depth.update(dict.fromkeys(set(range(len(graph.boxes))) - linked, bottom))
    ways = []
    for k, link in enumerate(graph.links):
        passed = range(depth[link.upper] + 1, depth[link.lower])
        ways.append([link.upper, *((k, row) for row in passed), link.lower])
    depth.update((stop, stop[1]) for way in ways for stop in way[1:-1])
    before = _linked_before(depth, ways)
    rows = [[stop for stop in depth if depth[stop] == row] for row in range(bottom + 1)]
    place: dict = {}

    def middle_and_left(stop):
        places = [place[each] for each in before[stop]] or [0]
        return sum(places) / len(places), min(places)

    for row in rows:  # below the middle of what leads to it
        row.sort(key=middle_and_left)
        place.update((stop, k - (len(row) - 1) / 2) for k, stop in enumerate(row))
    _uncross(rows, before, _linked_before(depth, [way[::-1] for way in ways]))
    return rows, ways


def _linked_before(stops, ways):
    """For each stop, those from which a way comes to it."""
    before: dict = {stop: [] for stop in stops}
    for way in ways:
        for start, end in pairwise(way):
            before[end].append(start)
    return before


def _uncross(rows, above, below):
    """Swap neighbours in a row as long as fewer links cross."""
    place = {stop: k for row in rows for k, stop in enumerate(row)}

    def crossings(left, right):
        pairs = (product(ends[left], ends[right]) for ends in (above, below))
        return sum(place[a] > place[b] for a, b in chain(*pairs))

    swapped = True
    while swapped:
        swapped = False
        for row in rows:
            for k in range(len(row) - 1):
                left, right = row[k : k + 2]
                if crossings(right, left) < crossings(left, right):
                    row[k : k + 2] = right, left
                    place[right], place[left], swapped = k, k + 1, True
