"""Questions of real threads are answered by a cell, two clicks away from the search of notebook 00.

The first click is on what the search finds: a section, or an entry, whose links take the second.
"""

from collections import Counter
from functools import cache

import nbformat
from asked_questions import QUESTIONS

from autograd_surprises.facts.sections import address
from autograd_surprises.messages.catalogue import index_entries
from autograd_surprises.messages.entries import Section
from autograd_surprises.messages.queries import find
from tools.notebooks import headings, notebook_files

SEEN = 3  # of what is found, a reader looks at so many


@cache
def found(asked):
    return find(asked).found


def sections_found(question):
    """The addresses of the first sections, and those to which the first entries link."""
    return {
        address
        for each in found(question["asked"])[:SEEN]
        for address in (
            [each.address]
            if isinstance(each, Section)
            else [cause.address for cause in each.causes]
        )
    }


def test_the_index_leads_to_the_section():
    missed = [q for q in QUESTIONS if address(q["section"]) not in sections_found(q)]
    assert missed == []


def test_the_section_has_a_cell_that_shows_the_answer():
    places, heading = {}, ""
    for path in notebook_files():
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                shows = cell.execution_count and cell.outputs
                places[cell.id] = heading if shows else "shows nothing"
            elif titles := headings(cell.source):
                heading = f"{path.name}#{titles[-1][1].replace(' ', '-')}"
    expected = {question["cell"]: address(question["section"]) for question in QUESTIONS}
    assert {cell: places.get(cell) for cell in expected} == expected


def test_an_entry_does_not_simply_list_everything():
    others = {address(question["section"]) for question in QUESTIONS}
    led = sorted(len(sections_found(question) & others) for question in QUESTIONS)
    assert led[len(led) // 2] <= 6, "of about fifty"


def test_what_is_asked_most_often_comes_first_in_the_index():
    firsts = [found(question["asked"])[0] for question in QUESTIONS]
    first = Counter(each.id for each in firsts if not isinstance(each, Section))
    often = {entry.id for entry in index_entries() if entry.frequent}
    assert {id for id, count in first.items() if count > 1} <= often
