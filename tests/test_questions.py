"""Questions of real threads are answered by a cell, two clicks away from the search of notebook 00.

The first click is on what the search finds: a section, or an entry, whose links take the second.
"""

from pathlib import Path

import nbformat

from autograd_surprises.facts.sections import address
from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.messages.entries import Section
from autograd_surprises.messages.queries import find
from tools.notebooks import headings, notebook_files

TEXT = Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")
QUESTIONS = [
    {"cell": cell, "section": section, "asked": asked}
    for cell, (section, _, asked) in tomllib.loads(TEXT).items()
]
SEEN = 3  # of what is found, a reader looks at so many


def sections_found(question):
    """The addresses of the first sections, and those to which the first entries link."""
    return {
        address
        for each in find(question["asked"]).found[:SEEN]
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
