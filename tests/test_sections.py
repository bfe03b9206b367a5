"""Each id of sections.toml leads to one heading of the notebook that it names."""

import nbformat
import pytest

from autograd_surprises.sections import _addresses, address
from autograd_surprises.toml_data import read_toml
from tools.notebooks import headings, notebook_files


def anchors(path):
    cells = nbformat.read(path, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [heading.replace(" ", "-") for text in texts for _, heading in headings(text)]


ANCHORS = {path.name: anchors(path) for path in notebook_files()}


@pytest.mark.parametrize("section", _addresses())
def test_a_section_is_one_heading_of_its_notebook(section):
    notebook, _, anchor = address(section).partition("#")
    assert ANCHORS[notebook].count(anchor) == 1


def test_no_id_stands_twice():
    """Of two in two notebooks, the second one would win."""
    notebooks = read_toml("sections.toml").values()
    assert len(_addresses()) == sum(map(len, notebooks))


def test_no_heading_has_two_ids():
    addresses = list(_addresses().values())
    assert len(addresses) == len(set(addresses))


def test_an_unknown_id_is_refused():
    with pytest.raises(KeyError, match="none.of-this"):
        address("none.of-this")
