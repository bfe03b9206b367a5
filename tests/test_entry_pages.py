"""The pages of messages, questions and rules: their addresses stay, and their code was run."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup
from test_messages import IS_OLD, LATER

from autograd_surprises.messages.catalogue import all_messages, all_questions, contains
from autograd_surprises.symptoms.all_rules import all_rules
from cases.rule_examples import Example, rule_examples, script_of
from tools.printed_by_torch import output_of
from tools.website import building, entry_pages
from tools.website.links import page_files

IDS = Path(__file__).with_name("page_ids.txt").read_text("utf-8").split()


@pytest.fixture(scope="module")
def pages():
    return {page.url: page for page in entry_pages.entry_pages()}


def test_an_address_that_was_there_stays():
    """One that is gone stays in page_ids.txt, and gets a place in MOVED."""
    now = entry_pages.entries_by_id()
    assert [id for id in now if id not in IDS] == [], "run `make notebooks`"
    assert [id for id in IDS if id not in now and id not in entry_pages.MOVED] == []
    assert [new for new in entry_pages.MOVED.values() if new not in now] == []


def test_an_id_that_is_gone_leads_to_the_page_that_answers_instead(monkeypatch):
    monkeypatch.setattr(entry_pages, "MOVED", {"old/one": "staircase"})
    ((file, text),) = entry_pages.redirections().items()
    page = BeautifulSoup(text, "html.parser")
    assert (file, page.base["href"], page.a["href"]) == (
        "m/old/one.html",
        "../../",
        "m/staircase.html",
    )
    assert page.find("meta", {"http-equiv": "refresh"})["content"] == "0; url=m/staircase.html"


@pytest.mark.slow
def test_the_page_of_a_message_shows_what_torch_prints_for_its_code(pages):
    for message in all_messages():
        if IS_OLD and message.id in LATER:
            continue
        of_message, *_ = pages[f"m/{message.id}.html"].body.partition('<h2 id="rule">')
        page = BeautifulSoup(of_message, "html.parser")
        printed = [each.get_text() for each in page.find_all("pre", "output")]
        assert len(printed) == len(message.examples) + bool(message.repaired)
        if message.repaired:
            assert printed.pop() == output_of(message.repaired)
        for text in printed:
            assert any(contains(text, wording) for wording in message.wordings), message.id
        assert message.fix.replace("`", "") in page.get_text()


@pytest.mark.slow
def test_the_code_of_a_page_can_be_pasted_as_it_is(pages):
    for message in all_messages():
        page = BeautifulSoup(pages[f"m/{message.id}.html"].body, "html.parser")
        for code in page.select(".highlight"):
            text = code.get_text()
            made = set(re.findall(r"^(?:from .* )?import (\w+)|^(\w+) = ", text, re.MULTILINE))
            made = {name for pair in made for name in pair}
            names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            used = names & {"torch", "nn", "Function", "x"}
            assert used <= made, f"{message.id}: {used - made}"


@pytest.mark.slow
def test_a_rule_and_a_question_have_a_page_that_says_what_they_say(pages):
    assert all(f"m/{id}.html" in pages for id in all_rules())
    rule = all_rules()["hook/zero"]
    text = BeautifulSoup(pages["m/hook/zero.html"].body, "html.parser").get_text()
    assert rule.sentence in text.replace("A hook", "a hook") and rule.fix in text
    assert "detach() cuts the graph" in pages["m/grad-is-none.html"].body


@pytest.mark.slow
def test_a_page_names_the_threads_in_which_it_was_asked(pages):
    asked = [entry for entry in (*all_messages(), *all_questions()) if entry.threads]
    assert len(asked) >= 50
    for entry in asked:
        page = BeautifulSoup(pages[f"m/{entry.id}.html"].body, "html.parser")
        named = [link.get_text() for link in page.select("a[href^='https://github.com/']")]
        assert named == [*entry.threads]
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in entry.threads)


@pytest.mark.slow
def test_links_lead_to_pages_and_start_at_the_folder_of_the_site(pages):
    there = {*page_files().values()}
    for page in pages.values():
        soup = BeautifulSoup(page.html(before=None, after=None, published=""), "html.parser")
        assert soup.base["href"] == "../" * page.url.count("/")
        for link in soup.select("main a[href]"):
            outside = re.fullmatch(r"https://github.com/[\w.-]+/[\w.-]+/issues/\d+", link["href"])
            assert outside or link["href"].partition("#")[0] in there, page.url
        assert soup.find("a", "skip")["href"] == f"{page.url}#main", "# alone leads to the base"
        assert "PyTorch" in soup.title.string and soup.title.string.startswith(page.title)
        assert soup.find("meta", property="og:title")["content"] == page.title
        assert not soup.find("link", rel="canonical"), "nobody knows the address yet"


@pytest.mark.slow
def test_a_published_page_says_its_address(pages):
    page, site = pages["m/staircase.html"], "https://a.github.io/b/"
    soup = BeautifulSoup(page.html(before=None, after=None, published=site), "html.parser")
    assert soup.find("link", rel="canonical")["href"] == f"{site}m/staircase.html"
    assert soup.find("meta", property="og:url")["content"] == f"{site}m/staircase.html"
    found = building.for_crawlers([page.url], site)
    assert f"<loc>{site}m/staircase.html</loc>" in found["sitemap.xml"]
    assert f"Sitemap: {site}sitemap.xml" in found["robots.txt"]
    assert "sitemap.xml" not in building.for_crawlers([page.url], "")
    missing = entry_pages.missing_page().html(before=None, after=None, published=site)
    assert BeautifulSoup(missing, "html.parser").base["href"] == site, "at any depth"


@pytest.mark.slow
def test_the_page_of_a_rule_shows_code_in_which_the_doctor_finds_it(pages):
    examples = rule_examples()
    assert examples.keys() <= all_rules().keys() and len(examples) >= 50
    for id, (broken, cured) in examples.items():
        assert "cause: " in broken.printed != cured.printed, id
        said = BeautifulSoup(pages[f"m/{id}.html"].body, "html.parser").get_text()
        assert broken.printed in said and cured.printed in said


@pytest.mark.slow
def test_the_code_of_a_rule_prints_the_same_as_a_script_of_its_own(tmp_path):
    broken, _ = rule_examples()["branch"]
    (tmp_path / "train.py").write_text(broken.code, encoding="utf-8")
    command = [sys.executable, "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip() == broken.printed and "train.py:8: if gate > 0:" in broken.printed


def test_a_patient_that_needs_more_than_torch_is_not_shown():
    Visit = Example

    def with_a_helper():
        return Visit(rule_examples(), "")

    def without_a_visit():
        return torch.ones(1)

    assert script_of(with_a_helper) == script_of(without_a_visit) == ""
