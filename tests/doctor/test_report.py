"""A report as text, as a table and as a picture."""

import base64
import io

import pytest
import torch
from PIL import Image
from torch import nn

from autograd_surprises.doctor import explain, trace
from autograd_surprises.doctor.graph import KINDS
from autograd_surprises.doctor.picture import draw


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def rounded():
    x = leaf(0.2, 1.7)
    with trace() as t:
        y = x.round()
        loss = (y**2).sum()
    return t.explain(loss, {"x": x})


def detached():
    w, b = leaf(1.0, 2.0), leaf(0.0)
    with trace() as t:
        h = (w * 2).detach()
        loss = (h + b).sum()
    return t.explain(loss, {"w": w, "b": b})


def masked_too_late():
    x = leaf(0.0, 4.0)
    return explain(torch.where(x > 0, x.sqrt(), 0.0).sum(), {"x": x})


def residual():
    x = leaf(1.0, 2.0)
    with trace() as t:
        h = x
        for _ in range(4):
            h = h + torch.relu(h * 0.5)
        loss = h.sum()
    return t.explain(loss, {"x": x})


def dead_layer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    nn.init.constant_(model[0].bias, -10.0)
    return explain((model(torch.rand(5, 3)) - 1).pow(2).mean(), model)


def deep():
    torch.manual_seed(0)
    layers = [part for _ in range(30) for part in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers)
    return explain(model(torch.rand(4, 8)).sum(), model)


def transformer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 4)
    with trace() as t:
        loss = (model(torch.rand(4, 5, 8)).round() ** 2).sum()
    return t.explain(loss, model)


REPORTS = [rounded, detached, masked_too_late, residual, dead_layer, deep, transformer]
each = pytest.mark.parametrize("report", REPORTS, ids=lambda make: make.__name__)


def kinds(report):
    return [box.kind for box in report.graph().graph.boxes]


# ---- Text and table


def test_a_report_is_text():
    lines = str(rounded()).splitlines()
    assert lines[0] == "loss: 4, made by SumBackward0"
    assert lines[1] == "ZERO  x"
    assert lines[2].startswith("    cause: round ")
    assert lines[3].startswith("    at: test_report.py:") and lines[3].endswith("y = x.round()")
    assert lines[4] == "    gradient: died in RoundBackward0: 1 of 2 in, 0 of 2 out"


@each
def test_no_line_is_longer_than_a_page(report):
    assert max(map(len, str(report()).splitlines())) <= 98


@each
def test_the_table_says_what_the_text_says(report):
    report = report()
    table = report._repr_html_()
    assert table.count("<tr>") == 1 + str(report).count("\n    cause:") + str(report).count("\nok")
    for finding in report.findings:
        assert finding.sentence.replace(">", "&gt;").replace("'", "&#x27;") in table


def test_findings_of_one_story_are_told_once():
    report = dead_layer()
    assert len(report.findings) == 4
    assert "ZERO  0.weight, 0.bias\n" in str(report)


def test_names_are_escaped_in_the_table():
    x = leaf(1.0)
    assert "<b>x" not in explain(x.sum(), {"<b>x": x})._repr_html_()


def test_the_worst_finding_answers_to_a_name():
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    report = explain(model(torch.ones(1, 2)).sum(), model, optimizer=optimizer)
    assert report["bias"].status == "not trained"
    assert not report.healthy


# ---- The graph


def test_what_dies_and_what_is_dead():
    assert kinds(rounded()) == ["flows", "partial", "dies", "empty leaf"]
    assert kinds(masked_too_late())[-2:] == ["not finite", "spoiled leaf"]
    assert kinds(dead_layer()).count("dies") == 1
    assert {"dead", "leaf", "empty leaf"} <= set(kinds(dead_layer()))


def test_a_cut_tensor_hangs_below_the_step_that_uses_its_numbers():
    graph = detached().graph().graph
    names = [box.lines[0] for box in graph.boxes]
    assert names == ["SumBackward0", "AddBackward0", "b", "w"]
    assert (names.index("AddBackward0"), names.index("w"), False) in graph.links
    assert "gradient None: detach" in graph.boxes[-1].lines


def test_boxes_say_operation_line_and_counts():
    operation, code, said, counts = rounded().graph().graph.boxes[2].lines
    assert (operation, said, counts) == ("RoundBackward0", "dies here", "in 1/2 → out 0/2")
    assert code.startswith("test_report.py:") and code.endswith("y = x.round()")


@pytest.mark.parametrize("report, hidden", [(deep, True), (transformer, True), (residual, False)])
def test_a_large_graph_folds(report, hidden):
    picture = report().graph()
    assert len(picture.graph.boxes) <= 30
    assert bool(picture.graph.hidden) == hidden
    assert ("more steps" in picture.summary) == hidden


def test_many_tensors_that_are_cut_off_do_not_flood_the_picture():
    weights = {f"w{i}": leaf(1.0) for i in range(40)}
    with trace() as t:
        loss = sum(w.detach() for w in weights.values()).sum() + leaf(1.0).sum()
    assert kinds(t.explain(loss, weights)).count("cut") == 7
    assert "34 more" in t.explain(loss, weights).graph().summary


def test_a_loss_without_a_graph_has_a_picture():
    x = leaf(1.0)
    assert kinds(explain(x.detach().sum(), {"x": x})) == ["cut", "cut"]


@each
def test_mermaid_has_every_box_and_every_style(report):
    picture = report().graph()
    for i, box in enumerate(picture.graph.boxes):
        assert f"  n{i}" in picture.mermaid
        assert f"classDef {box.kind.replace(' ', '_')} " in picture.mermaid
    assert picture.mermaid.count("-->") + picture.mermaid.count("-.") == len(picture.graph.links)


@each
def test_the_figure_has_room_for_every_box(report):
    picture = report().graph()
    figure = draw(picture.graph, picture.summary)
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == len(picture.graph.boxes)
    width, height = figure.canvas.get_width_height()
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_the_picture_shows_itself_in_every_frontend():
    data, _ = rounded().graph()._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/vnd.mermaid", "image/png"}
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width > 200 and image.height > 200
    assert "RoundBackward0 · " in data["text/plain"]


def test_kinds_differ_by_more_than_colour():
    shapes = {kind: KINDS[kind][1] for kind in ("flows", "dies", "not finite", "leaf")}
    assert len(set(shapes.values())) == 4
    assert all(KINDS[kind][0] for kind in ("partial", "dies", "not finite", "carries"))
