"""The pages of operations that changed between versions of torch, and the published numbers."""

import json

import pytest
from bs4 import BeautifulSoup

from autograd_surprises.atlas import changes, versions
from tools.notebooks import ROOT
from tools.website.atlas_pages import atlas_pages, changed_operations, in_each_version, numbers
from tools.website.links import page_url


@pytest.fixture(scope="module")
def pages():
    return {page.url: BeautifulSoup(page.body, "html.parser") for page in atlas_pages()}


def test_each_change_is_on_the_page_of_its_operation(pages):
    measured = versions()
    for earlier, later in zip(measured, measured[1:], strict=False):
        for change in changes(earlier, later):
            name = change.expression.partition("(")[0]
            rows = pages[f"atlas/{name}.html"].select("tbody tr")
            cells = [[cell.get_text() for cell in row.find_all("td")] for row in rows]
            line = [later, change.expression, change.points, change.what]
            assert [*line, change.before, change.after] in cells


def test_a_clamp_at_its_bound_has_two_answers():
    before, since = in_each_version("torch.clamp(x, -1, 1)")
    assert before[0] == "2.6 to 2.13" and before[1].startswith("at -1: 1, slopes 0 and 1")
    assert since[0] == "2.14 to 2.15" and since[1].startswith("at -1: 0, slopes 0 and 1")
    assert in_each_version("torch.relu(x)")[0][0] == "2.6 to 2.15"


def test_the_list_leads_to_every_page_and_every_file(pages):
    links = [link["href"] for link in pages["atlas/index.html"].select("li a")]
    assert links[: -len(versions())] == [f"atlas/{name}.html" for name in changed_operations()]
    assert links[-len(versions()) :] == [f"atlas/{file.name}" for file in numbers()]
    assert json.loads(numbers()[0].read_text(encoding="utf-8"))["torch"] == versions()[-1]


def test_the_atlas_leads_to_its_numbers():
    assert page_url("autograd_surprises/atlas/measured", ROOT) == "atlas/index.html"
    assert "(autograd_surprises/atlas/measured)" in (ROOT / "ATLAS.md").read_text(encoding="utf-8")
