"""The index of messages in notebook 00: what it shows is what find_messages finds."""

import pytest

from autograd_surprises.messages import find_messages
from helpers.lessons.symptoms import NOTHING_FOUND, answers, symptom_table
from helpers.widgets.symptom_search import SymptomSearch

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    total.requires_grad_()
RuntimeError: only Tensors of floating point dtype can require gradients
"""


@pytest.fixture
def search():
    return SymptomSearch()


def test_a_pasted_traceback_is_answered(search):
    search.said.value = TRACEBACK
    (message,) = find_messages(TRACEBACK)
    assert search.answers == answers([message])
    assert f"]({message.section})" in search.answers
    assert "found: 1" in search.message.value


def test_without_words_all_messages_are_listed(search):
    everything = symptom_table()._repr_markdown_()
    assert search.answers == everything
    search.said.value = "does this mean anything"
    assert search.answers == NOTHING_FOUND
    search.said.value = " \n"
    assert search.answers == everything and "found" not in search.message.value


def test_what_is_stored_is_the_table(search):
    search.said.value = TRACEBACK
    bundle = search._repr_mimebundle_()
    assert bundle["text/plain"] == repr(symptom_table())
    assert bundle["text/markdown"] == symptom_table()._repr_markdown_()


def test_an_answer_shows_code_as_it_is():
    """No underscore or asterisk of a meaning is read as Markdown."""
    found = find_messages("an in-place operation has overwritten it")
    assert r"(+=, x\[...\] = ..., relu\_, optimizer.step())" in answers(found)
