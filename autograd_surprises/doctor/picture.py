"""The graph of a report as a picture: Mermaid in JupyterLab, a figure everywhere else."""

from __future__ import annotations

from autograd_surprises.doctor.graph import KINDS, BoxGraph, box_graph, mermaid

ROW, GAP, LETTER = 0.34, 0.5, 0.088  # inches: between lines of text, between boxes, of a letter


class GraphPicture:
    """Shows itself. `.graph` is what is drawn, `.mermaid` the same as text.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x}).graph()
    SumBackward0 · in 1/1 → out 2/2
    RoundBackward0 · dies here · in 2/2 → out 0/2
    x · gradient 0/2
    """

    def __init__(self, report, limit: int):
        self.graph = box_graph(report, limit)
        self.mermaid = mermaid(self.graph)

    @property
    def summary(self) -> str:
        """The boxes as text, the loss first."""
        lines = [" · ".join(box.lines) for box in self.graph.boxes]
        if self.graph.hidden:
            lines.append(f"{self.graph.hidden} more steps are not drawn")
        return "\n".join(lines)

    __repr__ = summary.fget

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = draw(self.graph, self.summary)._repr_mimebundle_()
        return {**data, "text/vnd.mermaid": self.mermaid}, metadata


def draw(graph: BoxGraph, summary: str):
    """The boxes as a autograd_surprises.show.picture.Picture, the loss on top."""
    from autograd_surprises.show.picture import (
        Picture,  # here, because a diagnosis needs no matplotlib
    )

    rows, chains = layers(graph)
    width = [max(len(line) for line in box.lines) * LETTER + 0.3 for box in graph.boxes]
    size = {item: width[item] if isinstance(item, int) else 0.1 for row in rows for item in row}
    places, top = {}, 0.0
    total = max(sum(size[i] for i in row) + GAP * (len(row) - 1) for row in rows)
    for row in rows:
        left = (total - sum(size[i] for i in row) - GAP * (len(row) - 1)) / 2
        boxes = [graph.boxes[i] for i in row if isinstance(i, int)]
        tall = max(len(box.lines) for box in boxes) * 0.19 + 0.2
        for i in row:
            places[i] = left + size[i] / 2, top - tall / 2
            left += size[i] + GAP
        top -= tall + ROW
    figure = Picture(max(total + 0.4, 3.0), -top + 0.2)
    figure.set_layout_engine("none")  # the axes fill it
    ax = figure.add_axes((0, 0, 1, 1))
    margin = (figure.get_figwidth() - total) / 2
    ax.set(xlim=(-margin, total + margin), ylim=(top + ROW - 0.2, 0.2))
    ax.axis("off")
    shapes = {}
    for i, box in enumerate(graph.boxes):
        fill, border, thick, dashed = KINDS[box.kind][2]
        leaf = box.kind == "cut" or box.kind.endswith("leaf")
        shapes[i] = ax.text(
            *places[i], "\n".join(box.lines), ha="center", va="center", fontsize=9, color="#222222",
            bbox={
                "boxstyle": "round,pad=0.5,rounding_size=0.9" if leaf else SHAPES.get(
                    box.kind, "square,pad=0.45"
                ),
                "facecolor": fill, "edgecolor": border, "linewidth": 0.7 * thick,
                "linestyle": "--" if dashed else "-",
            },
        )  # fmt: skip
    for (upper, lower, flows), chain in zip(graph.links, chains, strict=True):
        cut = graph.boxes[lower].kind == "cut"
        look = {"color": "#D55E00" if cut else "#0072B2" if flows else "#888888",
                "linestyle": "-" if flows else "--", "shrinkA": 0, "shrinkB": 0}  # fmt: skip
        for start, end in zip(chain, chain[1:], strict=False):
            head = "-|>" if end == lower and not cut else "-"
            ends = {"patchA": shapes[start].get_bbox_patch()} if start == upper else {}
            ends |= {"patchB": shapes[end].get_bbox_patch()} if end == lower else {}
            arrow = {"arrowstyle": head, **look, **ends}
            ax.annotate("", places[end], places[start], arrowprops=arrow)
        if cut:
            middle = [(a + b) / 2 for a, b in zip(places[lower], places[upper], strict=True)]
            ax.plot(*middle, marker="x", markersize=8, markeredgewidth=2.5, color=look["color"])
    figure.summary = summary
    return figure


SHAPES = {"dies": "sawtooth,pad=0.5,tooth_size=0.25", "not finite": "roundtooth,pad=0.5"}


def layers(graph: BoxGraph) -> tuple[list[list], list[list]]:
    """Rows of boxes, each below all that link to it, and for each link the chain of its places.

    A link that passes by rows has a place of its own in each of them: (link, row).
    """
    above: dict = {i: [] for i in range(len(graph.boxes))}
    for upper, lower, _ in graph.links:
        above[lower].append(upper)
    depth, waiting = {}, list(above)
    while waiting:
        i = waiting.pop(0)
        if all(upper in depth for upper in above[i]):
            depth[i] = 1 + max((depth[upper] for upper in above[i]), default=-1)
        else:
            waiting.append(i)
    bottom = max(depth.values())
    for i, uppers in above.items():
        if not uppers and i != 0:  # hangs loose
            depth[i] = bottom
    chains = []
    for k, (upper, lower, _) in enumerate(graph.links):
        passed = [(k, row) for row in range(depth[upper] + 1, depth[lower])]
        chains.append([upper, *passed, lower])
        depth.update((place, place[1]) for place in passed)
    near: dict = {item: [] for item in depth}
    for chain in chains:
        for start, end in zip(chain, chain[1:], strict=False):
            near[end].append(start)
    rows = [[item for item in depth if depth[item] == row] for row in range(bottom + 1)]
    place = {}
    for row in rows:
        row.sort(key=lambda item: sum(place[u] for u in near[item]) / max(1, len(near[item])))
        place.update((item, k - (len(row) - 1) / 2) for k, item in enumerate(row))
    return rows, chains
