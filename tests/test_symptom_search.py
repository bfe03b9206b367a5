"""The index in notebook 00: what it shows is what the search finds."""

import pytest

from autograd_surprises.messages.queries import NOTHING_FOUND, Answer, find
from lessons.start_here.index_text import WholeIndex, answers, whole_index
from lessons.start_here.symptom_search import SymptomSearch

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    total.requires_grad_()
RuntimeError: only Tensors of floating point dtype can require gradients
"""


@pytest.fixture
def search():
    return SymptomSearch()


def test_a_pasted_traceback_is_answered(search):
    search.question.value = TRACEBACK
    (entry,) = find(TRACEBACK).found
    assert search.answers == answers(Answer((entry,)))
    assert f"]({entry.causes[0].address})" in search.answers
    assert "found: 1" in search.message.value


def test_a_question_is_answered_with_each_cause(search):
    search.question.value = "Why is my gradient None?"
    first, *others = find(search.question.value).found
    assert search.answers.startswith(answers(Answer((first,))))
    assert f"found: {1 + len(others)}" in search.message.value
    for cause in first.causes:
        assert cause.what.replace("_", r"\_") in search.answers
        assert f"]({cause.address})" in search.answers


def test_without_words_nothing_is_shown(search):
    assert search.answers == ""
    search.question.value = "0"
    assert search.answers == NOTHING_FOUND
    search.question.value = TRACEBACK
    search.question.value = " \n"
    assert search.answers == "" and "found" not in search.message.value


def test_the_index_is_shown_as_a_list():
    assert (repr(WholeIndex()), WholeIndex()._repr_markdown_()) == (whole_index(), whole_index())


def test_the_old_answer_is_grey_while_the_new_one_is_sought(search, monkeypatch):
    search.question.value = TRACEBACK
    old, seen = search.answers, []
    looked = lambda text: seen.append((search.answers, search.message.value)) or find(text)  # noqa: E731
    monkeypatch.setattr("lessons.start_here.symptom_search.find", looked)
    search.question.value = "NaN"
    assert f'opacity: 0.4">\n\n{old}\n' in seen[0][0] and "Searching" in seen[0][1]
    assert "opacity" not in search.answers and "Searching" not in search.message.value


def test_an_answer_shows_code_as_it_is():
    """No underscore or asterisk of a meaning is read as Markdown."""
    found = find("RuntimeError: has been modified by an inplace operation")
    assert r"(+=, x\[...\] = ..., relu\_, optimizer.step())" in answers(found)
