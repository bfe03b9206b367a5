"""A report as text, as a table and as data."""

import html
import json
import re
from functools import cache

import pytest
import torch
from torch import nn
from training import leaf

from autograd_surprises.command.report_files import as_data
from autograd_surprises.doctor import explain, trace
from autograd_surprises.doctor.report import merged
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.show.colours import GREEN, GREY, OCHRE, PURPLE, RED
from autograd_surprises.show.findings import badge
from autograd_surprises.symptoms.finding import Finding
from cases.case import Visit
from cases.claims import seed
from cases.small import PATIENTS


@cache
def report_of(name):
    """What the doctor says of a patient, or of deep layers of which it leaves some out."""
    seed()
    with trace() as t:
        visit = deep() if name == "deep" else PATIENTS[name].build()
    return t.explain(visit.loss, visit.wrt, model=visit.model, optimizer=visit.optimizer)


def deep():
    layers = [part for _ in range(30) for part in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers)
    return Visit(model(torch.rand(4, 8)).sum(), model)


OF_EACH_CAUSE = {p.causes: name for name, p in PATIENTS.items() if p.status != "error"}
REPORTS = ["deep", *OF_EACH_CAUSE.values()]
each = pytest.mark.parametrize("name", REPORTS)
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of what the patients do


def test_a_report_is_text():
    x = leaf(0.2, 1.7)
    with trace() as t:
        y = x.round()
        loss = (y**2).sum()
    where = f"test_report.py:{t.calls[0].where.line}"
    assert str(t.explain(loss, {"x": x})).splitlines() == [
        "ZERO  x",
        "    cause: round is a staircase: its gradient is 0 everywhere",
        f"    at: {where}: y = x.round()",
        "    gradient: died in RoundBackward0: 1 of 2 in, 0 of 2 out",
        "    fix: to train anyway, use a straight-through estimator: x + (f(x) - x).detach(), "
        "or your own",
        "      Function",
        "loss: 4, made by SumBackward0",
    ]


def told(report):
    """Of each story: the name, its lines, where they are, and what helps."""
    for found in merged(report.findings):
        assert repr(found) == str(found)
        yield found.name
        for label, text in found.lines():
            yield label
            yield text


@each
def test_text_and_page_tell_the_same_and_no_line_is_longer_than_a_page(name):
    report = report_of(name)
    text = str(report)
    assert max(map(len, text.splitlines())) <= 98
    page = html.unescape(re.sub("<[^>]*>", "", report._repr_html_().replace("<wbr>", "")))
    for part in told(report):
        assert " ".join(part.split()) in " ".join(text.split())
        assert part.replace("`", "") in page


@each
def test_the_data_name_each_finding_each_line_and_each_rule(name):
    report = report_of(name)
    data = as_data(StepReport(3, "asked for", report))
    assert (data["step"], data["why"], data["loss"]) == (3, "asked for", report.loss)
    assert data["healthy"] == report.healthy
    for said, found in zip(json.loads(json.dumps(data))["findings"], report.findings, strict=True):
        for field in ("name", "status", "cause", "rule", "sentence", "fix"):
            assert said[field] == getattr(found, field)
        assert (said["gradient"], said["also"]) == (found.node, list(found.also))
        places = [(at["label"], at["file"], at["line"], at["source"]) for at in said["places"]]
        assert places == [(label, at.file, at.line, at.source) for label, at in found.places]


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
    report = report_of("deep")
    (story,) = [s for s in merged(report.findings) if s.name.startswith("0.weight")]
    assert story.name.split(", ")[:2] == ["0.weight", "0.bias"] and len(report.findings) == 60


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
