"""Questions of real threads are answered by a cell, two clicks away from the index of notebook 00.

The first click is on an entry that the search finds, the second on the link in it.
"""

import re
from collections import Counter
from functools import cache

import nbformat
import pytest
from asked_questions import QUESTIONS

from autograd_surprises.messages.catalogue import all_questions
from autograd_surprises.messages.index import FREQUENT, find_entries
from autograd_surprises.sections import address
from tools.notebooks import headings, notebook_files

SEEN = 3  # entries that a reader looks at
each = pytest.mark.parametrize("question", QUESTIONS, ids=[q["asked"][:50] for q in QUESTIONS])


@cache
def cells_of(section):
    """The cells below a heading, down to the next one of any level."""
    name, _, anchor = address(section).partition("#")
    (path,) = [path for path in notebook_files() if path.name == name]
    found, below = [], False
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            for _, heading in headings(cell.source):
                below = heading.replace(" ", "-") == anchor
        if below:
            found.append(cell)
    return found


def sections_found(question):
    """The addresses to which the first entries link."""
    found = find_entries(question["asked"])[:SEEN]
    return {address for entry in found for _, address in entry.causes}


@each
def test_the_index_leads_to_the_section(question):
    assert address(question["section"]) in sections_found(question)


@each
def test_the_section_has_a_cell_that_shows_the_answer(question):
    cells = cells_of(question["section"])
    assert cells, "no such heading"
    (cell,) = [cell for cell in cells if cell.id == question["cell"]]
    assert cell.execution_count and cell.outputs


def test_there_are_forty_or_more_from_different_threads():
    assert len({question["thread"] for question in QUESTIONS}) == len(QUESTIONS) >= 40
    assert len({question["asked"] for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        assert re.match(
            "https://(github.com|discuss.pytorch.org|stackoverflow.com)/.", question["thread"]
        )
        assert question.keys() == {"asked", "thread", "section", "cell"}


def runs_of_words(text):
    words = re.findall("[a-z0-9_]+", text.lower())
    return set(zip(words, words[1:], words[2:], words[3:], strict=False))


def test_the_index_does_not_copy_the_questions():
    """Or this file would only show that a text is found by its own words."""
    known = {
        run
        for plain in all_questions()
        for words in (plain.asked, *plain.other_words)
        for run in runs_of_words(words)
    }
    for question in QUESTIONS:
        assert not known & runs_of_words(question["asked"]), question["asked"]


def test_a_wrong_section_would_be_noticed():
    """Most questions lead to few sections, so that this file can fail."""
    others = {address(question["section"]) for question in QUESTIONS}
    led = [len(sections_found(question) & others) for question in QUESTIONS]
    assert sorted(led)[len(led) // 2] <= 6, "of about thirty"


def test_what_is_asked_most_often_comes_first_in_the_index():
    first = Counter(find_entries(question["asked"])[0].id for question in QUESTIONS)
    assert {id for id, count in first.items() if count > 1} <= set(FREQUENT)
