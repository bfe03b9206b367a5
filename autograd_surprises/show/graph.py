"""The autograd graph as a matplotlib figure."""

from __future__ import annotations

import torch

from autograd_surprises.graph import autograd_graph
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture


def plot_graph(result: torch.Tensor, *, title: str | None = None, **names: torch.Tensor) -> Picture:
    """Draw the autograd graph behind `result`: the result on top, the leaves at the bottom.

    `names` give tensors their names in the picture. A box with a heavy frame is a leaf whose
    .grad backward fills; a rounded box is a step of backward.

    >>> w = torch.ones(2, requires_grad=True)
    >>> print(plot_graph((w * 3).sum(), w=w).summary)
    SumBackward0 -> MulBackward0
    MulBackward0 -> w (leaf)
    """
    nodes = autograd_graph(result)
    labels = [_node_label(node, names) for node in nodes]
    rows = [[i for i, node in enumerate(nodes) if node.depth == depth]
            for depth in range(nodes[-1].depth + 1)]  # fmt: skip
    widest = max(map(len, rows))
    figure = Picture(max(5, 2.4 * widest), 0.4 + 0.75 * len(rows))
    ax = figure.subplots()
    ax.set(xlim=(-widest / 2, widest / 2), ylim=(0.5 - len(rows), 0.5), title=title or "")
    ax.axis("off")
    boxes = {}
    for depth, row in enumerate(rows):
        for k, i in enumerate(row):
            leaf = nodes[i].leaf is not None
            boxes[i] = ax.text(
                k - (len(row) - 1) / 2, -depth, labels[i], ha="center", va="center", fontsize=10,
                bbox={
                    "boxstyle": "square,pad=0.5" if leaf else "round,pad=0.5,rounding_size=0.8",
                    "facecolor": "white",
                    "edgecolor": GRADIENT_COLOUR if leaf else VALUE_COLOUR,
                    "linewidth": 2.5 if leaf else 1.2,
                },
            )  # fmt: skip
    for i, node in enumerate(nodes):
        for below in node.inputs:
            arrow = {"arrowstyle": "-|>", "color": SLOPE_COLOUR, "shrinkA": 0, "shrinkB": 2}
            arrow["patchA"], arrow["patchB"] = (
                boxes[i].get_bbox_patch(),
                boxes[below].get_bbox_patch(),
            )
            if nodes[below].depth > node.depth + 1:  # passes by the boxes between
                arrow["connectionstyle"] = "arc3,rad=0.4"
            start, end = boxes[i].get_position(), boxes[below].get_position()
            ax.annotate("", end, start, arrowprops=arrow)
    figure.summary = "\n".join(
        f"{label} -> {', '.join(labels[i] for i in node.inputs)}".replace("\n", " ")
        for label, node in zip(labels, nodes, strict=True)
        if node.inputs
    )
    return figure


def _node_label(node, names):
    if node.leaf is not None:
        name = next((name for name, tensor in names.items() if tensor is node.leaf), "unnamed")
        return f"{name} (leaf)"
    name = next((name for name, tensor in names.items() if tensor.grad_fn is node.function), "")
    return f"{name}\n{node.name}".strip()
