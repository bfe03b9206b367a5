"""The graph of a report as boxes and links, and as text for Mermaid."""

from __future__ import annotations

import json
from dataclasses import dataclass

from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.places import Where

# kind -> (what it means, Mermaid's brackets, style: fill, border, border width, dashed)
KINDS = {
    "flows": ("", '["{}"]', ("#ffffff", "#0072B2", 1, False)),
    "partial": ("stops a part", '["{}"]', ("#fdf2c4", "#9a6a00", 2, False)),
    "dies": ("dies here", '{{{{"{}"}}}}', ("#fbd5bd", "#D55E00", 3, False)),
    "dead": ("", '["{}"]', ("#eeeeee", "#888888", 1, True)),
    "not finite": ("not finite from here", '[/"{}"/]', ("#f3d4e6", "#a3457d", 3, False)),
    "carries": ("not finite", '[/"{}"/]', ("#f9ecf3", "#a3457d", 1, False)),
    "folded": ("", '("{}")', ("#ffffff", "#bbbbbb", 1, True)),
    "leaf": ("", '(["{}"])', ("#d9ecf8", "#0072B2", 2, False)),
    "empty leaf": ("", '(["{}"])', ("#eeeeee", "#D55E00", 2, True)),
    "spoiled leaf": ("", '(["{}"])', ("#f9ecf3", "#a3457d", 2, False)),
    "cut": ("cut off", '(["{}"])', ("#ffffff", "#D55E00", 2, True)),
}


MANY = 6  # tensors that are cut off, one box each
ROOM = {"wrappingWidth": 420, "nodeSpacing": 30, "rankSpacing": 32}  # pixels, for Mermaid
PHRASES = {"escape": "left torch", "copy": "copied", "integer": "became an integer",
           "branch": "only decides", "data": ".data", "no-grad": "recording was off",
           "unknown-cut": "cut off, or never used"}  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A node in the picture: what kind, and the lines of its text."""

    kind: str
    lines: tuple[str, ...]


@dataclass
class BoxGraph:
    """Boxes and links (upper, lower, flows), by position. `hidden` steps are not drawn."""

    boxes: list[Box]
    links: list[tuple[int, int, bool]]
    hidden: int = 0


def box_graph(report, limit: int = 30) -> BoxGraph:
    """The boxes of a report, at most about `limit`: a large graph folds to the ways that matter.

    The ways that matter lead from the loss to tensors whose gradient is ill, or, if none is, to
    the leaf that is farthest.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> [box.kind for box in box_graph(explain(x.round().sum(), {"x": x})).boxes]
    ['flows', 'dies', 'empty leaf']
    """
    if report.backward is None:
        loose = [_cut_box(f) for f in report.findings if f.status == "none" and f.name != "loss"]
        return BoxGraph([Box("cut", ("loss", "no history")), *loose], [])
    drawing = _Drawing(report)
    steps = list(report.backward.steps.values())  # in order from the loss
    if len(steps) <= limit:
        drawing.whole(steps)
    else:
        drawing.ways(steps)
    drawing.cuts()
    return BoxGraph(drawing.boxes, drawing.links, max(0, len(steps) - drawing.covered))


def mermaid(graph: BoxGraph) -> str:
    """The same as text, which JupyterLab draws itself."""
    lines = [f"%%{{init: {json.dumps({'flowchart': ROOM})}}}%%", "flowchart TD"]
    for i, box in enumerate(graph.boxes):
        text = "<br>".join(line.replace('"', "'") for line in box.lines)
        style = box.kind.replace(" ", "_")
        lines.append(f"  n{i}{KINDS[box.kind][1].format(text)}:::{style}")
    for upper, lower, flows in graph.links:
        cut = graph.boxes[lower].kind == "cut"
        arrow = "-. ✂ .-" if cut else "-->" if flows else "-.->"
        lines.append(f"  n{upper} {arrow} n{lower}")
    for kind in dict.fromkeys(box.kind for box in graph.boxes):
        fill, border, width, dashed = KINDS[kind][2]
        dash = ",stroke-dasharray:4 3" if dashed else ""
        lines.append(
            f"  classDef {kind.replace(' ', '_')} "
            f"fill:{fill},stroke:{border},stroke-width:{width}px,color:#222{dash}"
        )
    return "\n".join(lines)


class _Drawing:
    """Collects boxes and links."""

    def __init__(self, report):
        self.report, self.backward = report, report.backward
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
                    self.link(step, below, step.leaving[k : k + 1])

    def link(self, step, below, amounts):
        flows = any(amount and amount.nonzero for amount in amounts)
        self.links.append((self.add(step), self.add(below), flows))

    def ways(self, steps):
        """A few ways from the loss to leaves; what is long and healthy on them is folded."""
        leaves = [step for step in steps if hasattr(step.node, "variable")]
        ill = [leaf for leaf in leaves if self.box(leaf).kind != "leaf"]
        self.add(self.backward.root)
        links = {}
        for leaf in ill[:1] + ill[-2:] if ill else leaves[-1:]:
            way = [leaf, *(step for step, _ in self.backward.main_way(leaf.node, 0))][::-1]
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
            amounts = [a for step in [*between, upper][:1] for a in step.leaving]
            if not between:
                self.link(upper, lower, amounts)
                continue
            self.boxes.append(Box("folded", (f"{len(between)} more steps",)))
            fold, self.covered = len(self.boxes) - 1, self.covered + len(between)
            flows = any(amount and amount.nonzero for amount in amounts)
            self.links += [(self.add(upper), fold, flows), (fold, self.add(lower), flows)]

    def cuts(self):
        """Tensors that the graph does not reach, below the step that uses what was cut off."""
        cut = [f for f in self.report.findings if f.status == "none" and f.cause != "not-a-leaf"]
        numbers = {step.node._sequence_nr(): step for step in self.backward.ran()}
        for finding in cut[:MANY]:
            self.boxes.append(_cut_box(finding))
            call, history = finding.call, self.report.history
            number = history.returns_at(call, sorted(numbers)) if call else None
            if numbers.get(number) in self.position:
                above = self.position[numbers[number]]
                self.links.append((above, len(self.boxes) - 1, False))
        if len(cut) > MANY:
            self.boxes.append(Box("cut", (f"{len(cut) - MANY} more", "gradient None")))

    def box(self, step):
        if hasattr(step.node, "variable"):
            return self.leaf(step)
        kind = _kind(step)
        place = self.report.history.line_of(step.node) if self.report.history else None
        said = KINDS[kind][0]
        lines = [step.name, _code(place), said, _in_and_out(step)]
        return Box(kind, tuple(line for line in lines if line))

    def leaf(self, step):
        name = self.report.names.get(id(step.node.variable), "leaf")
        into = [s.leaving[k] for s, k in self.backward.into.get((step.node, 0), ())
                if k < len(s.leaving)]  # fmt: skip
        amount = max(filter(None, into), key=lambda a: (not a.finite, a.nonzero), default=None)
        kind = "leaf" if amount and amount.nonzero else "empty leaf"
        kind = "spoiled leaf" if amount and not amount.finite else kind
        return Box(kind, (name, f"gradient {amount or 'None'}"))


def _cut_box(finding: Finding) -> Box:
    cause = PHRASES.get(finding.cause, finding.cause.replace("-", " "))
    lines = (finding.name, f"gradient None: {cause}", _code(finding.where))
    return Box("cut", tuple(line for line in lines if line))


def _code(place: Where | None) -> str:
    text = f"{place.short}: {place.source}" if place else ""
    return text if len(text) <= 46 else text[:45] + "…"


def _in_and_out(step):
    arrived = ", ".join(str(amount) for amount in step.arriving if amount)
    left = ", ".join(str(amount) for amount in step.leaving if amount)
    return f"in {arrived} → out {left or 'nothing'}" if arrived else ""


def _kind(step):
    arriving = [amount for amount in step.arriving if amount]
    leaving = [amount for amount in step.leaving if amount]
    if not any(amount.nonzero for amount in arriving):
        return "dead"
    if not all(amount.finite for amount in arriving):
        return "carries"
    if not all(amount.finite for amount in leaving):
        return "not finite"
    if not any(amount.nonzero for amount in leaving):
        return "dies"
    return "partial" if step.stopped else "flows"
