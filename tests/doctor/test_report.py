"""A report as text, as a table and as data."""

import html
import json
import re
from functools import cache

import pytest
import torch
from torch import nn

from autograd_surprises.command.report_files import as_data
from autograd_surprises.doctor import explain, trace
from autograd_surprises.doctor.report import merged
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.show.colours import GREEN, GREY, OCHRE, PURPLE, RED
from autograd_surprises.show.findings import badge
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
