"""Where a report leads: to a page if the project is published, or else to a command that runs."""

import json
from types import SimpleNamespace

import pytest
import torch

from autograd_surprises import explain, explain_error
from autograd_surprises.command.parser import main
from autograd_surprises.command.report_files import as_data, more_lines, said_by_rank
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.facts import more
from autograd_surprises.symptoms.all_rules import all_rules
from tools.address import links

PAGES = "https://owner.github.io/repo/"


@pytest.fixture
def report():
    x = torch.tensor([0.2, 1.7], requires_grad=True)
    named = {"x": x, "again": x}
    return StepReport(1, "the first one", explain(x.round().sum(), named))


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(more, "published_pages", lambda: PAGES)


def test_before_it_is_published_a_report_names_a_command_that_says_more(report, capsys):
    (line,) = more_lines(report)
    assert as_data(report)["findings"][0]["more"] in line
    *_, program, command, id = line.split()
    assert (program, command) == ("autograd_surprises", "explain") and id in all_rules()
    assert main([command, id]) == 0 and "staircase" in capsys.readouterr().out


def test_afterwards_it_names_the_page(report, published):
    assert more_lines(report) == [f"more: {PAGES}m/staircase.html"]
    assert json.loads(json.dumps(as_data(report)))["findings"][0]["more"].startswith(PAGES)


def test_an_error_that_is_explained_names_its_page_too(published):
    loss = torch.ones(2, requires_grad=True).exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time") as raised:
        loss.backward()
    finding = explain_error(raised.value)
    assert f"more: {PAGES}m/second-backward.html" in str(finding)
    assert f"{PAGES}m/second-backward.html" in finding._repr_html_()
    assert "more" not in str(explain_error(ValueError("no message of torch")))


def test_the_report_of_an_error_names_it_once():
    loss = torch.ones(2, requires_grad=True).exp().sum()
    loss.backward()
    said = said_by_rank(StepReport(1, "the first one", explain(loss)), 0, 1)
    assert said.count("more:") == 1


def test_a_healthy_step_needs_no_more():
    x = torch.ones(1, requires_grad=True)
    assert more_lines(StepReport(1, "the first one", explain(x.sum(), {"x": x}))) == []


@pytest.mark.parametrize("id", ["overwritten", "vector-backward/several", "grad-is-none"])
def test_explain_names_the_page_of_an_id(id, published, capsys):
    assert main(["explain", id]) == 0
    said = capsys.readouterr().out
    assert f"{PAGES}m/{id}.html" in "".join(said.split())
    assert said.count(f"{PAGES}m/") == 1, "something else was found, too"


def test_the_address_comes_from_the_one_place_that_has_it(monkeypatch):
    home = "https://github.com/Owner/repo"
    written = ["Changelog, https://example.org/", f"Repository, {home}"]
    monkeypatch.setattr(
        more, "metadata", lambda package: SimpleNamespace(get_all=lambda _: written)
    )
    assert more.published_pages.__wrapped__() == PAGES
    found = links(f'[project.urls]\nRepository = "{home}"\n')
    assert found == {"site": PAGES, "archive": f"{home}/archive/main.zip"}
    assert links("[project]\n") == {}
