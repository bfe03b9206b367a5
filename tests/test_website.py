"""The parts of the website that need no browser. tests/browser/test_website.py has the pages."""

import re

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.explore import explore, freeze, freezing
from lessons.asking.prediction import Prediction
from tools import lesson_texts
from tools.notebooks import ROOT
from tools.website import __main__ as website
from tools.website import recording, sources
from tools.website.sources import NOTEBOOKS, notebook_source, page_files, with_links


@pytest.fixture(scope="module")
def slider():
    """A frozen explorer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freezing, "SETTINGS", 30)  # enough, and quick
        return freeze(explore(torch.nn.functional.elu, alpha=(0.0, 1.0, 1.0)))


def source(tmp_path, *cells, frozen=None):
    """What myst-nb gets of these cells, below a title."""
    file = tmp_path / "a.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Why?\n\nSo."), *cells]), file)
    return nbformat.reads(notebook_source(file, frozen or {}), as_version=4).cells


def test_pictures_are_made_again_after_an_update_of_torch_or_a_lesson(monkeypatch):
    assert {"helpers", "lessons"} <= {*recording.MADE_FROM}
    before = recording._seal(ROOT / "README.md")
    monkeypatch.setattr(torch, "__version__", "2.99")
    assert recording._seal(ROOT / "README.md") != before


@pytest.mark.parametrize(
    ("link", "folder", "shown"),
    [
        ("03_round_and_clamp.ipynb#At-0", NOTEBOOKS, "[t](03_round_and_clamp.html#At-0)"),
        ("../ATLAS.md#changes", NOTEBOOKS, "[t](ATLAS.html#changes)"),
        ("../docs/report_cards.md", NOTEBOOKS, "[t](report_cards.html)"),
        ("notebooks/12_gradient_atlas.ipynb", ROOT, "[t](12_gradient_atlas.html)"),
        ("autograd_surprises/atlas/measured", ROOT, "[t](atlas/index.html)"),
        ("#Recap", NOTEBOOKS, "[t](#Recap)"),
        ("https://pytorch.org", NOTEBOOKS, "[t](https://pytorch.org)"),
        ("../helpers/functions/rounding.py", NOTEBOOKS, "t"),
    ],
)
def test_links_lead_to_pages(link, folder, shown):
    assert with_links(f"[t]({link})", folder) == shown


def test_a_question_is_asked_without_its_answer_in_sight(tmp_path):
    asked = Prediction("Is `a < b`?", {"True": "Right: `a`.", "False": "No."}, answer=True)
    output = new_output("execute_result", data=asked._repr_mimebundle_(), metadata={})
    about = {"jupyter": {"source_hidden": True}}
    cell = new_code_cell("predict(…)", id="q", outputs=[output], metadata=about)
    *_, shown = source(tmp_path, cell)
    page = BeautifulSoup(shown.outputs[0].data["text/html"], "html.parser")
    assert shown.metadata.tags == ["hide-input"] and len(shown.outputs) == 1
    assert page.legend.decode_contents() == "Is <code>a &lt; b</code>?"
    assert [field["name"] for field in page.find_all("input")] == ["q-0", "q-0"]
    assert "Right" not in page.get_text() and "Right" in page.input["data-why"]


def picture_cell(id):
    about = {"image/png": {"alt": "curve", "width": 1}}
    shown = new_output("execute_result", data={"image/png": "iVBO"}, metadata=about)
    folded = {"jupyter": {"outputs_hidden": True}}
    return new_code_cell("plot()", id=id, outputs=[shown], metadata=folded)


def test_a_picture_opens_with_the_answer_or_at_once_where_nothing_is_asked(tmp_path):
    data = Prediction("Up?", {"yes": "Right.", "no": "No."}, answer="yes")._repr_mimebundle_()
    question = new_code_cell("predict(…)", id="q", outputs=[new_output("display_data", data=data)])
    said = new_output("stream", name="stdout", text="the answer")
    text = new_code_cell("f()", outputs=[said], metadata={"jupyter": {"outputs_hidden": True}})
    solution = new_code_cell("g()", metadata={"tags": ["solution"]})
    cells = source(
        tmp_path, picture_cell("first"), question, new_markdown_cell("It goes on."),
        picture_cell("second"), text, new_markdown_cell("And then?"), picture_cell("third"),
        solution,
    )  # fmt: skip
    tags = [cell.metadata.tags for cell in cells if cell.cell_type == "code"]
    answer = ["hide-output", "after-q-0"]
    assert tags == [[], [], answer, answer, [], ["hide-cell"]]


def test_a_frozen_picture_takes_the_place_of_the_stored_one(tmp_path, slider):
    *_, cell = source(tmp_path, picture_cell("p"), frozen={"p": slider})
    (output,) = cell.outputs
    assert (
        set(output.data) == {"text/html"} and 'class="explorer" id="p"' in output.data["text/html"]
    )


def test_what_needs_a_kernel_is_not_on_a_page(tmp_path):
    text = 'Slide it. <span class="kernel">Press *Step*.</span> Look.'
    check = new_code_cell("check()", id="c", metadata={"tags": ["needs-a-kernel"]})
    said = new_output("display_data", data={"text/plain": "… Exercise 1: Not done yet."})
    stub = new_code_cell('check("round_and_clamp.1", ...)', id="a", outputs=[said])
    title, shown, answer = source(tmp_path, new_markdown_cell(text), check, stub)
    assert "index.html#kernel" in title.source and shown.source == "Slide it. Look."
    assert 'answer, <a href="index.html#kernel">' in answer.outputs[0].data["text/html"]


@pytest.mark.slow
def test_no_page_tells_a_reader_to_do_what_only_a_kernel_can():
    needed = re.compile(r"Shift\+Enter|\*Step\*|[Rr]un the (next|cell)|[Rr]un its cell")
    for path in page_files():
        if path.suffix == ".ipynb":
            cells = nbformat.reads(notebook_source(path, {}), as_version=4).cells
            texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
            assert [text for text in texts if needed.search(text)] == [], path.name


@pytest.mark.slow
def test_pages_have_their_texts_their_neighbours_and_the_anchors_of_their_files(tmp_path, slider):
    """Of two notebooks and a Markdown file alone."""
    a, b, c = files = [tmp_path / name for name in ("00_a.ipynb", "01_b.ipynb", "c.md")]
    c.write_text(
        "# Text c\n\n## A `b`'s c\n\nis c\n\n## Twice\n\n## Twice\n\n"
        "[d](01_b.ipynb#A-Reader's-Part)\n"
    )
    for file in (a, b):
        said = new_output("stream", name="stdout", text=f"is {file.stem} <3>")
        cells = [new_markdown_cell(f"# Why {file.stem}?\n\n## A Reader's Part"), picture_cell("p")]
        cells.append(new_code_cell("f()", outputs=[said]))
        cells.append(new_code_cell("spoiler()", metadata={"tags": ["solution"]}))
        python = {"language_info": {"name": "python"}}
        nbformat.write(new_notebook(cells=cells, metadata=python), file)
    named = {file: file.stem for file in files}
    with pytest.MonkeyPatch.context() as patch:
        for module in (website, sources, lesson_texts):
            patch.setattr(module, "page_files", lambda: named)
        patch.setattr(website, "generated_pages", lambda: {
            "messages": "# Messages", "atlas/index": "# Atlas", "m/x": "---\norphan: true\n---\n# X"
        })  # fmt: skip
        patch.setattr(website, "is_a_line", lambda id: id == "deepcopy")
        for which in ("first", "second, in the same process"):
            assert website.build(tmp_path / "site", {a: {"p": slider}}) == 0, which
        rows = lesson_texts.lesson_texts()
    site = tmp_path / "site"
    page = BeautifulSoup((site / "00_a.html").read_text(), "html.parser")
    assert page.title.string.startswith("Why 00_a? - PyTorch"), "for search engines"
    assert "is 00_a <3>" in page.article.get_text() and page.find(id="A-Reader's-Part").h2
    assert page.find(class_="explorer").script and page.find("script", src=re.compile("strokes.js"))
    assert page.find("a", "next-page")["href"] == "01_b.html"
    page = BeautifulSoup((site / "c.html").read_text(), "html.parser")
    assert [each["id"] for each in page.select("section section")] == ["a-bs-c", "twice", "twice-2"]
    assert page.article.find("a", string="d")["href"] == "01_b.html#A-Reader's-Part"
    page = BeautifulSoup((site / "m/x.html").read_text(), "html.parser")
    assert page.find("a", href="../messages.html") and page.find("details")["data-root"] == "../"
    assert (site / "m/deepcopy.html").exists() and (site / website.MARK).exists()
    assert '#A-Reader\'s-Part", "Why 00_a?", "A Reader\'s Part", "plot() f() is 00_a <3>"]' in rows
    assert '#a-bs-c", "Text c", "A b\'s c", "is c"]' in rows


def test_a_folder_that_is_no_site_is_not_emptied(tmp_path, monkeypatch):
    monkeypatch.setattr(website, "recorded", lambda notebooks: {})
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit, match="holds something other than a site"):
        website.main(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
