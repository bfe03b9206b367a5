"""Pages of messages, questions, rules and operations: addresses stay, and the code was run."""

import re
from pathlib import Path

import pytest

from autograd_surprises.facts.toml_data import read_toml
from autograd_surprises.messages.catalogue import all_questions
from autograd_surprises.symptoms.all_rules import all_rules
from autograd_surprises.symptoms.rule import Rule
from tools.website import generated
from tools.website.__main__ import sources

SECTIONS = {id for sections in read_toml("facts/sections.toml").values() for id in sections}
IDS = Path(__file__).with_name("page_ids.txt").read_text("utf-8").split()


@pytest.fixture(scope="module")
def pages():
    return generated.generated_pages()


def test_an_address_that_was_there_stays():
    """One that is gone would need a redirection, as the lines of the list have."""
    assert sorted(generated.entries_by_id()) == sorted(IDS), "run `make notebooks`"


@pytest.mark.slow
def test_each_entry_has_a_page_or_a_line_to_which_its_address_leads(pages, monkeypatch):
    monkeypatch.setattr("tools.website.__main__.generated_pages", lambda: pages)
    found = sources({})
    lines = [id for id in IDS if f"m/{id}.md" not in found]
    assert len(lines) >= 50 and all(generated.is_a_line(id) for id in lines)
    for id in IDS:
        if id in lines:
            up = "../" * (1 + id.count("/"))
            assert f"url={up}messages.html#{id}" in found[f"extra/m/{id}.html"]
            assert f'<a id="{id}"></a>' in pages["messages"]
        else:
            assert f"](m/{id}.html)" in pages["messages"]


@pytest.mark.slow
def test_a_rule_and_a_question_have_a_page_that_says_what_they_say(pages):
    rule, said = all_rules()["hook/zero"], pages["m/hook/zero"].replace("\\", "")
    assert rule.sentence in said and rule.fix in said
    question, said = all_questions()[0], pages["m/grad-is-none"].replace("\\", "")
    for cause in question.causes:
        assert cause.what in said and cause.helps in said and cause.section in ("", *SECTIONS)
        broken, repaired = cause.broken.strip(), cause.repaired.strip()
        assert said.index(repaired) <= said.index(broken), "what helps comes first"


@pytest.mark.slow
def test_every_message_and_question_has_code_and_no_page_an_address_in_memory(pages):
    without = [id for id, (entry, *_) in generated.entries_by_id().items()
               if not isinstance(entry, Rule) and "````python" not in pages[f"m/{id}"]]  # fmt: skip
    assert without == ["no-double-backward-of-rnn"], "only a GPU prints it"
    assert not [id for id, text in pages.items() if re.search("0x[0-9a-f]", text)]


@pytest.mark.slow
def test_the_page_of_a_rule_shows_code_in_which_the_doctor_finds_it(pages):
    from cases.rule_examples import rule_examples  # takes a while to import

    examples = rule_examples()
    assert examples.keys() <= all_rules().keys() and len(examples) >= 50
    for id, (broken, cured) in examples.items():
        assert "cause: " in broken.printed != cured.printed, id
        assert broken.printed in pages[f"m/{id}"] and cured.printed in pages[f"m/{id}"]
