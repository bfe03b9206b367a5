"""The graph of one watched backward as boxes and links: where the gradient flows, and dies."""

from collections.abc import Sequence

from autograd_surprises.backward.steps import GradientSize
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import Where
from autograd_surprises.show.findings import grouped, listed
from autograd_surprises.show.graph_picture import Box, BoxGraph, Link
from autograd_surprises.symptoms.finding import Finding

TEXTS = {"partial": "stops a part", "dies": "dies here", "not finite": "not finite from here",
        "carries": "not finite"}  # fmt: skip
LOST_BY = {"escape": "left torch", "copy": "copied", "integer": "became an integer",
          "branch": "only decides", "data": ".data", "no-grad": "recording was off",
          "unknown-cut": "cut off, or never used"}  # fmt: skip
MANY = 4  # boxes of tensors that are cut off


def box_graph(
    backward: Backward | None,
    history: History,
    findings: Sequence[Finding],
    names: dict[int, str],
    limit: int = 30,
) -> BoxGraph:
    """The boxes of a backward, about `limit` at most: of a large graph, only the paths that matter.

    These lead from the loss to tensors with a bad gradient or, if there are none, to the farthest
    leaf. Tensors that the graph does not reach hang below the step that uses their numbers.

    names  of leaves, by id

    >>> box_graph(None, History(), (), {}).summary
    'loss · no history'
    """
    unreached = [f for f in findings if f.status == "none" and f.name != "loss"]
    if backward is None:
        boxes = [_unreached_box(group) for group in _of_one_cause(unreached)]
        return BoxGraph((Box("cut", ("loss", "no history")), *boxes), ())
    drawing = _Boxes(backward, history, names)
    steps = list(backward.steps.values())  # in order from the loss
    if len(steps) <= limit:
        drawing.whole(steps)
    else:
        drawing.ways(steps)
    drawing.unreached([finding for finding in unreached if finding.cause != "not-a-leaf"])
    hidden = max(0, len(steps) - drawing.covered)
    return BoxGraph(tuple(drawing.boxes), tuple(drawing.links), hidden)


class _Boxes:
    """Collects boxes and links."""

    def __init__(self, backward, history, names):
        self.backward, self.history, self.names = backward, history, names
        self.boxes, self.links, self.position, self.covered = [], [], {}, 0

    def add(self, step):
        if step not in self.position:
            self.position[step] = len(self.boxes)
            self.boxes.append(self.box(step))
            self.covered += 1
        return self.position[step]

    def whole(self, steps):
        for step in steps:
            self.add(step)
        for step in steps:
            for k, (node, _) in enumerate(step.edges):
                below = self.backward.steps.get(node)
                if below is not None:
                    self.link(self.add(step), self.add(below), step.leaving[k : k + 1])

    def link(self, upper, lower, sizes):
        self.links.append(Link(upper, lower, _flows(sizes)))

    def ways(self, steps):
        """A few paths from the loss to leaves; long healthy stretches are folded."""
        leaves = [step for step in steps if step.leaf is not None]
        bad = [leaf for leaf in leaves if self.box(leaf).kind != "leaf"]
        self.add(self.backward.root)
        links = {}
        for leaf in bad[:1] + bad[-2:] if bad else leaves[-1:]:
            way = [leaf, *(step for step, _, _ in self.backward.main_way(leaf.node, 0))][::-1]
            kinds = [self.box(step).kind for step in way]
            keep = [
                i
                for i, kind in enumerate(kinds)
                if i < 3 or i >= len(way) - 4 or kind in ("dies", "not finite", "partial")
            ]
            keep = sorted({*keep[:8], *keep[-6:]})
            for i, j in zip(keep, keep[1:], strict=False):
                links[way[i], way[j]] = way[i + 1 : j]
        for (upper, lower), between in links.items():
            if not between:
                self.link(self.add(upper), self.add(lower), upper.leaving)
                continue
            self.boxes.append(Box("folded", (f"{len(between)} more steps",)))
            fold, self.covered = len(self.boxes) - 1, self.covered + len(between)
            self.link(self.add(upper), fold, between[0].leaving)
            self.link(fold, self.add(lower), between[0].leaving)

    def unreached(self, findings):
        """Tensors that the graph does not reach, below the step that uses what was cut off."""
        numbers = {step.node._sequence_nr(): step for step in self.backward.ran()}
        groups = _of_one_cause(findings)
        for group in groups[:MANY]:
            self.boxes.append(_unreached_box(group))
            call = group[0].call
            number = self.history.returns_at(call, sorted(numbers)) if call else None
            if numbers.get(number) in self.position:
                above = self.position[numbers[number]]
                self.links.append(Link(above, len(self.boxes) - 1, flows=False))
        more = sum(map(len, groups[MANY:]))
        if more:
            self.boxes.append(Box("cut", (f"{more} more", "gradient None")))

    def box(self, step):
        if step.leaf is not None:
            return self.leaf(step)
        kind = _kind(step)
        lines = [step.name, _code(step.where), TEXTS.get(kind), _in_and_out(step)]
        return Box(kind, tuple(line for line in lines if line))

    def leaf(self, step):
        name = self.names.get(id(step.leaf), "leaf")
        into = [s.leaving[k] for s, k in self.backward.into.get((step.node, 0), ())
                if k < len(s.leaving)]  # fmt: skip
        size = max(filter(None, into), key=lambda a: (not a.finite, a.nonzero), default=None)
        kind = "leaf" if size and size.nonzero else "empty leaf"
        kind = "spoiled leaf" if size and not size.finite else kind
        return Box(kind, (name, f"gradient {size or 'None'}"))


def _of_one_cause(findings):
    """Findings with one cause at one line of code, together."""
    return grouped(findings, lambda finding: (finding.cause, finding.where))


def _unreached_box(group: Sequence[Finding]) -> Box:
    names = listed([finding.name for finding in group], most=3)
    cause = LOST_BY.get(group[0].cause, group[0].cause.replace("-", " "))
    lines = (names, f"gradient None: {cause}", _code(group[0].where))
    return Box("cut", tuple(line for line in lines if line))


def _code(place: Where | None) -> str:
    text = place.code if place else ""
    return text if len(text) <= 46 else text[:45] + "…"


def _flows(sizes: Sequence[GradientSize | None]) -> bool:
    return any(size and size.nonzero for size in sizes)


def _finite(sizes: Sequence[GradientSize | None]) -> bool:
    return all(size.finite for size in sizes if size)


def _in_and_out(step):
    arrived = ", ".join(str(size) for size in step.arriving if size)
    left = ", ".join(str(size) for size in step.leaving if size)
    return f"in {arrived} → out {left or 'nothing'}" if arrived else ""


def _kind(step):
    if not _flows(step.arriving):
        return "dead"
    if not _finite(step.arriving):
        return "carries"
    if not _finite(step.leaving):
        return "not finite"
    if not _flows(step.leaving):
        return "dies"
    return "partial" if step.stopped else "flows"
