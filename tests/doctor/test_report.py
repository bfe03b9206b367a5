"""A report as text, as a table and as a picture."""

import base64
import html
import io
import json
import re
from functools import cache

import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from PIL import Image
from torch import nn

from autograd_surprises.command.report_files import as_data
from autograd_surprises.doctor import explain, trace
from autograd_surprises.doctor.graph_boxes import TEXTS
from autograd_surprises.doctor.report import merged
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.show.colours import GREEN, GREY, OCHRE, PURPLE, RED
from autograd_surprises.show.findings import badge
from autograd_surprises.show.graph_picture import LOOKS, Box, BoxGraph, Link, arranged, draw
from autograd_surprises.symptoms.finding import Finding


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@cache
def rounded():
    x = leaf(0.2, 1.7)
    with trace() as t:
        y = x.round()
        loss = (y**2).sum()
    return t.explain(loss, {"x": x})


@cache
def detached():
    w, b = leaf(1.0, 2.0), leaf(0.0)
    with trace() as t:
        h = (w * 2).detach()
        loss = (h + b).sum()
    return t.explain(loss, {"w": w, "b": b})


@cache
def masked_too_late():
    x = leaf(0.0, 4.0)
    return explain(torch.where(x > 0, x.sqrt(), 0.0).sum(), {"x": x})


@cache
def residual():
    x = leaf(1.0, 2.0)
    with trace() as t:
        h = x
        for _ in range(4):
            h = h + torch.relu(h * 0.5)
        loss = h.sum()
    return t.explain(loss, {"x": x})


@cache
def dead_layer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    nn.init.constant_(model[0].bias, -10.0)
    return explain((model(torch.rand(5, 3)) - 1).pow(2).mean(), model)


@cache
def deep():
    torch.manual_seed(0)
    layers = [part for _ in range(30) for part in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers)
    return explain(model(torch.rand(4, 8)).sum(), model)


@cache
def transformer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 4)
    with trace() as t:
        loss = (model(torch.rand(4, 5, 8)).round() ** 2).sum()
    return t.explain(loss, model)


@cache
def wide():
    weights = {f"w{i}": leaf(i + 0.2) for i in range(6)}
    with trace() as t:
        loss = torch.stack([torch.sin(w * 2.0) for w in weights.values()]).sum()
    return t.explain(loss, weights)


@cache
def switched_off():
    """Two lines have to do with it."""
    w = leaf(1.0)
    with trace() as t:
        with torch.no_grad():
            h = w * 2
        loss = (h + leaf(1.0)).sum()
    return t.explain(loss, {"w": w})


REPORTS = [rounded, detached, masked_too_late, residual, dead_layer, deep, transformer, wide]
REPORTS.append(switched_off)
each = pytest.mark.parametrize("report", REPORTS, ids=lambda make: make.__name__)


def kinds(report):
    return [box.kind for box in report.graph().boxes]


# ---- Text and table


def test_a_report_is_text():
    status, *lines, last = str(rounded()).splitlines()
    assert status.split() == ["ZERO", "x"] and last.startswith("loss: 4")
    assert "round" in lines[0] and "RoundBackward0" in "".join(lines)
    (line,) = [line for line in lines if "test_report.py:" in line]
    assert line.endswith("y = x.round()")


def told(report):
    """Of each story: the name, its lines, where they are, and what helps."""
    for found in merged(report.findings):
        assert repr(found) == str(found)
        yield found.name
        for label, text in found.lines():
            yield label
            yield text


@each
def test_text_and_page_tell_the_same_and_no_line_is_longer_than_a_page(report):
    report = report()
    text = str(report)
    assert max(map(len, text.splitlines())) <= 98
    page = html.unescape(re.sub("<[^>]*>", "", report._repr_html_().replace("<wbr>", "")))
    for part in told(report):
        assert " ".join(part.split()) in " ".join(text.split())
        assert part.replace("`", "") in page


@each
def test_the_data_name_each_finding_each_line_and_each_rule(report):
    report = report()
    data = as_data(StepReport(3, "asked for", report))
    assert (data["step"], data["why"], data["loss"]) == (3, "asked for", report.loss)
    assert data["healthy"] == report.healthy
    for said, found in zip(json.loads(json.dumps(data))["findings"], report.findings, strict=True):
        for field in ("name", "status", "cause", "rule", "sentence", "fix"):
            assert said[field] == getattr(found, field)
        assert (said["gradient"], said["also"]) == (found.node, list(found.also))
        places = [(at["label"], at["file"], at["line"], at["source"]) for at in said["places"]]
        assert places == [(label, at.file, at.line, at.source) for label, at in found.places]
        assert len(places) == 2 or found.cause != "no-grad"


@pytest.mark.parametrize(
    "finding, mark",
    [
        (Finding("x", "zero"), badge("ZERO", RED)),
        (Finding("x", "none"), badge("None", RED)),
        (Finding("x", "nan"), badge("NaN", PURPLE)),
        (Finding("x", "partial"), badge("partial", OCHRE)),
        (Finding("x", "ok"), badge("ok", GREEN)),
        (Finding("x", "zero", alarm=False), badge("ZERO (normal)", GREY)),
    ],
)
def test_each_status_is_a_word_on_its_colour(finding, mark):
    assert f"{mark} <code>x</code>" in finding._repr_html_()


def test_findings_of_one_story_are_told_once():
    report = dead_layer()
    assert len(report.findings) == 4
    assert "ZERO  0.weight, 0.bias\n" in str(report)


@pytest.mark.parametrize("many, hidden", [(7, 0), (8, 2), (40, 34)])
def test_names_that_a_story_leaves_out_are_counted(many, hidden):
    weights = {f"w{i}": leaf(0.2) for i in range(many)}
    report = explain(sum(w.round() for w in weights.values()).sum(), weights)
    (head,) = [line for line in str(report).splitlines() if line.startswith("ZERO")]
    shown = re.findall(r"w\d+", head)
    assert shown == list(weights)[: many - hidden]
    assert [int(n) for n in re.findall(r"and (\d+) more", head)] == [hidden] * (hidden > 0)


def test_names_are_escaped_in_the_table():
    x = leaf(1.0)
    assert "<b>x" not in explain(x.sum(), {"<b>x": x})._repr_html_()


# ---- The graph


def test_what_dies_and_what_is_dead():
    assert kinds(rounded()) == ["flows", "partial", "dies", "empty leaf"]
    assert kinds(masked_too_late())[-2:] == ["not finite", "spoiled leaf"]
    assert kinds(dead_layer()).count("dies") == 1
    assert {"dead", "leaf", "empty leaf"} <= set(kinds(dead_layer()))
    x = leaf(1.0)
    assert kinds(explain(x.detach().sum(), {"x": x})) == ["cut", "cut"]


def test_a_cut_tensor_hangs_below_the_step_that_uses_its_numbers():
    graph = detached().graph()
    names = [box.lines[0] for box in graph.boxes]
    assert names == ["SumBackward0", "AddBackward0", "b", "w"]
    assert Link(names.index("AddBackward0"), names.index("w"), flows=False) in graph.links
    assert "gradient None: detach" in graph.boxes[-1].lines


def test_boxes_say_operation_line_and_counts():
    operation, code, said, counts = rounded().graph().boxes[2].lines
    assert (operation, said, counts) == ("RoundBackward0", "dies here", "in 1/2 → out 0/2")
    assert code.startswith("test_report.py:") and code.endswith("y = x.round()")


def test_a_link_without_a_gradient_is_the_paler_one():
    boxes = tuple(Box("flows", (name,)) for name in "abc")
    picture = draw(BoxGraph(boxes, (Link(0, 1, flows=True), Link(0, 2, flows=False))))
    lines = {line.get_linestyle(): to_rgb(line.get_color()) for line in picture.axes[0].lines}
    assert sum(lines["-"]) < sum(lines["--"])


@pytest.mark.parametrize("report, hidden", [(deep, True), (transformer, True), (residual, False)])
def test_a_large_graph_folds(report, hidden):
    graph = report().graph()
    assert len(graph.boxes) <= 30
    assert bool(graph.hidden) == hidden
    assert (f"{graph.hidden} more steps" in graph.summary) == hidden


def test_many_cuts_do_not_flood_the_picture():
    several = [leaf(1.0) for _ in range(6)]
    a, b, c, d, e, f = several
    with trace() as t:
        loss = leaf(1.0) * a.detach()
        loss = loss * b.detach()
        loss = loss * c.detach()
        loss = loss * d.detach()
        loss = loss * (e * f).detach()
        all_in_a_line = sum(w.detach() for w in several).sum() + leaf(1.0).sum()
    for end, names in (
        (loss, ["a", "b", "c", "d", "2 more"]),
        (all_in_a_line, ["a, b, c and 3 more"]),
    ):
        boxes = t.explain(end.sum(), dict(zip("abcdef", several, strict=True))).graph().boxes
        assert [box.lines[0] for box in boxes if box.kind == "cut"] == names


@each
def test_the_summary_tells_every_box_and_every_link(report):
    graph = report().graph()
    lines = graph.summary.splitlines()
    assert len(lines) == len(graph.boxes) + bool(graph.hidden)
    for i, box in enumerate(graph.boxes):
        assert lines[i].startswith(" · ".join(box.lines))
        below = [graph.boxes[link.lower].lines[0] for link in graph.links if link.upper == i]
        _, then, names = lines[i].rpartition(" · then ")
        assert bool(then) == bool(below)
        assert not below or [n.removesuffix(" (cut off)") for n in names.split("; ")] == below


def drawn(graph):
    """The figure, its boxes, and the extent of each in pixels."""
    figure = draw(graph)
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [text.get_bbox_patch() for text in ax.texts if text.get_text()]
    assert len(boxes) == len(graph.boxes)
    return figure, [box.get_window_extent() for box in boxes]


@each
def test_the_figure_fits_a_notebook_and_has_room_for_every_box_and_its_text(report):
    figure, boxes = drawn(report().graph())
    assert figure.get_figwidth() < 9.5
    width, height = figure.canvas.get_width_height()
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert not any(box.overlaps(other) for other in boxes[:i])
    for text, box in zip(figure.axes[0].texts, boxes, strict=False):
        assert text.get_fontsize() >= 9
        words = text.get_window_extent()
        assert box.x0 < words.x0 and words.x1 < box.x1 and box.y0 < words.y0 and words.y1 < box.y1
    assert crossed(figure, boxes) == []


def ways(figure):
    """The points of each link, in pixels: a line, and the arrow at its end."""
    (ax,) = figure.axes
    lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) > 1]
    arrows = [arrow.xy for arrow in ax.texts if not arrow.get_text()]
    pairs = zip(lines, arrows, strict=True)
    return [ax.transData.transform([*line, arrow]) for line, arrow in pairs]


def crossed(figure, boxes):
    """The boxes that a link passes through, and not along."""
    inner = [Bbox.from_extents(b.x0 + 2, b.y0 + 2, b.x1 - 2, b.y1 - 2) for b in boxes]
    return [box for box in inner for way in ways(figure) if Path(way).intersects_bbox(box, False)]


TALL = Box("flows", ("tall and wide", *"12345"))
UNEVEN = BoxGraph(
    (Box("flows", ("top",)), Box("flows", ("low",)), TALL, TALL, Box("leaf", ("x",))),
    (Link(0, 1), Link(0, 2), Link(0, 3), Link(3, 4), Link(1, 4)),
)


def test_dollar_signs_in_code_are_no_formula():
    drawn(BoxGraph((Box("flows", ("price = '$\\nothing$'",)),), ()))


def test_links_begin_and_end_at_their_boxes_and_go_around_a_taller_neighbour():
    figure, boxes = drawn(UNEVEN)
    assert crossed(figure, boxes) == []
    for link, way in zip(UNEVEN.links, ways(figure), strict=True):
        upper, lower = boxes[link.upper], boxes[link.lower]
        assert way[0] == pytest.approx([(upper.x0 + upper.x1) / 2, upper.y0], abs=1)
        assert way[-1] == pytest.approx([(lower.x0 + lower.x1) / 2, lower.y1], abs=1)


def test_the_picture_shows_itself_in_every_frontend():
    data, _ = rounded().graph()._repr_mimebundle_()
    live = "application/vnd.jupyter.widget-view+json"
    assert set(data) == {"text/plain", "image/png", live}
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width > 200 and image.height > 200
    assert "RoundBackward0 · " in data["text/plain"]


def test_kinds_differ_by_more_than_colour():
    """By shape, by the line around it, or by what the box says."""
    says = {**TEXTS, "leaf": "2/2", "empty leaf": "0/2", "spoiled leaf": "2 NaN", "cut": "None"}
    looks = {(shape, line, says.get(kind)) for kind, (shape, _, _, _, line) in LOOKS.items()}
    assert len(looks) == len(LOOKS)


def test_a_link_past_other_rows_keeps_a_place_of_its_own_there():
    boxes = [Box("flows", (name,)) for name in "abcd"]
    links = [Link(0, 1), Link(1, 2), Link(2, 3), Link(0, 3)]
    rows, ways = arranged(BoxGraph(tuple(boxes), tuple(links)))
    assert [len(row) for row in rows] == [1, 2, 2, 1]
    assert ways[3] == [0, (3, 1), (3, 2), 3]


def test_neighbours_are_swapped_where_fewer_links_cross():
    """x·y, x² and y - x, each input with a box on its way: x comes left, and so do its boxes."""
    x, y, ways = 9, 10, {4: 9, 5: 10, 6: 9, 7: 10, 8: 9}
    links = [Link(0, 1), Link(0, 2), Link(0, 3)]
    links += [Link(1, 4), Link(1, 5), Link(2, 6), Link(3, 7), Link(3, 8)]
    links += [Link(upper, lower) for upper, lower in ways.items()]
    rows, _ = arranged(BoxGraph((Box("flows", ("box",)),) * 11, tuple(links)))
    assert rows[1:] == [[1, 2, 3], [4, 5, 6, 8, 7], [x, y]]
