"""The parts of the website that need no browser. tests/browser/test_website.py has the pages."""

import json
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.curves import plot_gradient_curve
from helpers.explore import explore, explore_backward, freeze, freezing
from lessons.asking.prediction import Prediction
from tools import lesson_texts
from tools.address import links
from tools.notebooks import ROOT
from tools.website import __main__ as command
from tools.website import building, pages, recording
from tools.website.cells import cell_html
from tools.website.links import NOTEBOOKS, page_files, page_url
from tools.website.pages import Page, file_page, front_page, markdown_page, notebook_page


@pytest.fixture(scope="module")
def slider():
    """A frozen explorer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freezing, "SETTINGS", 30)  # enough, and quick
        return freeze(explore(torch.nn.functional.elu, alpha=(0.0, 1.0, 1.0)))


@pytest.mark.parametrize(
    ("link", "folder", "url"),
    [
        (
            "03_round_and_clamp.ipynb#At-the-bound",
            NOTEBOOKS,
            "03_round_and_clamp.html#At-the-bound",
        ),
        ("../ATLAS.md#changes", NOTEBOOKS, "ATLAS.html#changes"),
        ("../docs/report_cards.md", NOTEBOOKS, "report_cards.html"),
        ("notebooks/13_gradient_atlas.ipynb", ROOT, "13_gradient_atlas.html"),
        ("#Recap", NOTEBOOKS, "#Recap"),
        ("https://pytorch.org", NOTEBOOKS, "https://pytorch.org"),
        ("../helpers/functions/rounding.py", NOTEBOOKS, None),
        ("03_round_and_clamp.ipynb", ROOT, None),
    ],
)
def test_links_lead_to_pages(link, folder, url):
    assert page_url(link, folder) == url


def test_no_two_files_have_one_page():
    assert len(set(page_files().values())) == len(page_files())


def test_markdown_has_the_anchors_of_github_and_links_only_to_pages(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("# A `b`, c\n\n## Twice\n\n## Twice\n\n[d](d.py), [e](#twice)\n")
    page = markdown_page(file, "a.html")
    assert page.title == "A b, c"
    assert [(heading, anchor) for heading, anchor, _ in page.sections] == [
        ("", ""), ("Twice", "twice"), ("Twice", "twice-2"),
    ]  # fmt: skip
    assert page.body.count("<a ") == 1 and "d, " in page.body


def test_the_text_of_a_section_has_code_and_outputs_once(tmp_path):
    said = new_output("stream", name="stdout", text="<3>\n")
    cells = [
        new_markdown_cell(
            "# Title\n\nBefore.\n\n## Part\n\n- a list\n\n| a | b |\n|---|---|\n| c | d |"
        ),
        new_code_cell("print('<3>')", outputs=[said]),
        new_code_cell("spoiler()", metadata={"tags": ["solution"]}),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    page = notebook_page(tmp_path / "a.ipynb", "a.html", {})
    assert page.sections == [
        ("", "", "Before."), ("Part", "Part", "a list\na\nb\nc\nd\nprint('<3>')\n<3>"),
    ]  # fmt: skip


def test_a_question_is_asked_without_its_answer_in_sight():
    asked = Prediction("Is `a < b`?", {"True": "Right: `a`.", "False": "No."}, answer=True)
    output = new_output("execute_result", data=asked._repr_mimebundle_(), metadata={})
    about = {"jupyter": {"source_hidden": True}}
    shown = cell_html(new_code_cell("predict(…)", id="q", outputs=[output], metadata=about), {})
    before, folded, _ = shown.partition("<details")
    assert folded and "<code>a &lt; b</code>" in before and "predict" not in before
    assert before.count('name="q-0"') == 2
    assert "Run this cell" in output.data["text/plain"] and "Run this cell" not in shown


def test_a_folded_output_is_behind_a_click_and_not_in_the_search(tmp_path):
    said = new_output("stream", name="stdout", text="the answer\n")
    folded = {"jupyter": {"outputs_hidden": True}}
    cell = new_code_cell("print(6)", id="a", outputs=[said], metadata=folded)
    code, details, shown = cell_html(cell, {}).partition("<details")
    assert details and "print" in code and "the answer" not in code and "the answer" in shown
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Why?"), cell]), tmp_path / "a.ipynb")
    ((_, _, text),) = notebook_page(tmp_path / "a.ipynb", "a.html", {}).sections
    assert "print(6)" in text and "answer" not in text


@pytest.mark.parametrize("repository", [None, "owner/repo"])
def test_the_front_page_links_to_the_repository_if_there_is_one(monkeypatch, slider, repository):
    stored = f'Repository = "https://github.com/{repository}"\n' if repository else ""
    monkeypatch.setattr(pages, "links", lambda: links(stored))
    notebook = Page("00_start_here.html", "Why?", "", frozen={"slider": slider})
    page = front_page([notebook])
    body = page.body
    assert page.description.startswith("Why does nothing train through torch.round()")
    assert "python -m autograd_surprises train.py" in body.partition("<h2")[0]
    assert ("Run the notebooks yourself", "kernel") in [part[:2] for part in page.sections]
    for host in ("colab.research.google.com/github/", "mybinder.org/v2/gh/", "github.com/"):
        assert (f'<a href="https://{host}owner/repo' in body) == bool(repository)
    assert "None" not in body.partition('id="kernel"')[2]


def test_who_wants_to_write_an_answer_hears_how():
    output = new_output("display_data", data={"text/plain": "… Exercise 1: Not done yet."})
    stub = new_code_cell('check("round_and_clamp.1", ...)', id="a", outputs=[output])
    shown = cell_html(stub, {})
    assert page_url("index.html#kernel") == "index.html#kernel" and "not done" not in shown
    assert 'To write your answer, <a href="index.html#kernel">' in shown


def picture_cell(id):
    about = {"image/png": {"alt": "curve", "width": 1}}
    shown = new_output("execute_result", data={"image/png": "iVBO"}, metadata=about)
    folded = {"jupyter": {"outputs_hidden": True}}
    return new_code_cell("plot()", id=id, outputs=[shown], metadata=folded)


def test_a_picture_opens_with_the_answer_or_at_once_where_nothing_is_asked(tmp_path):
    data = Prediction("Up?", {"yes": "Right.", "no": "No."}, answer="yes")._repr_mimebundle_()
    question = new_code_cell("predict(…)", id="q", outputs=[new_output("display_data", data=data)])
    cells = [
        new_markdown_cell("# Curves"),
        picture_cell("first"),
        question,
        new_markdown_cell("It goes on."),
        picture_cell("second"),
        new_markdown_cell("And then?"),
        picture_cell("third"),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    soup = BeautifulSoup(notebook_page(tmp_path / "a.ipynb", "a.html", {}).body, "html.parser")
    fold = {k: img.find_parent("details") for k, img in enumerate(soup.find_all("img"))}
    assert fold[0] is None and fold[1]["data-after"] == "q-0" and fold[2] is None
    assert soup.find("input")["name"] == "q-0"


def test_what_needs_a_kernel_is_not_on_a_page(tmp_path):
    text = '# Why?\n\nSlide it. <span class="kernel">Press *Step*.</span> Look.'
    check = new_code_cell("check()", id="c", metadata={"tags": ["needs-a-kernel"]})
    nbformat.write(new_notebook(cells=[new_markdown_cell(text), check]), tmp_path / "a.ipynb")
    ((_, _, shown),) = notebook_page(tmp_path / "a.ipynb", "a.html", {}).sections
    assert shown.endswith("Slide it. Look.")


@pytest.mark.slow
def test_no_page_tells_a_reader_to_do_what_only_a_kernel_can():
    needed = re.compile(r"Shift\+Enter|<em>Step</em>|[Rr]un the (next|cell)|[Rr]un its cell")
    for path, url in page_files().items():
        if path.suffix == ".ipynb":
            texts = BeautifulSoup(file_page(path, url, {}).body, "html.parser").select("p, li")
            said = [str(text) for text in texts if not text.find_parent(class_="output")]
            assert [text for text in said if needed.search(text)] == [], path.name


def test_a_picture_that_is_not_the_stored_one_is_refused(tmp_path, monkeypatch):
    about = {"image/png": {"alt": "another picture", "width": 1}}
    output = new_output("execute_result", data={"image/png": "iVBO"}, metadata=about)
    cells = [new_code_cell("plot(torch.relu)", id="a", outputs=[output])]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    monkeypatch.chdir(tmp_path)
    shown = plot_gradient_curve(torch.relu)
    monkeypatch.setattr(recording, "shown_by", lambda notebook, _: [(notebook.cells[0], shown)])
    with pytest.raises(ValueError, match="cell a: it shows 'relu: .*run `make notebooks`"):
        recording.frozen(tmp_path / "a.ipynb")
    cells[0].outputs[0].metadata["image/png"]["alt"] = shown.summary
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    assert recording.frozen(tmp_path / "a.ipynb")["a"]["controls"] == []


def test_an_explorer_may_store_another_picture_than_it_starts_with(tmp_path, monkeypatch):
    w = torch.tensor(2.0, requires_grad=True)
    shown = explore_backward(lambda: 3 * w, {"w": w})
    data, metadata = shown.stored_output()
    output = new_output("execute_result", data=data, metadata=metadata)
    cells = [new_code_cell("explore_backward(...)", id="a", outputs=[output])]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording, "shown_by", lambda notebook, _: [(notebook.cells[0], shown)])
    assert "step=2" in metadata["image/png"]["alt"]
    assert shown.values["step"] == 0
    assert recording.frozen(tmp_path / "a.ipynb")["a"]["controls"]


def test_pictures_are_kept_until_something_they_depend_on_changes(tmp_path, monkeypatch):
    ran, folders = [], ("helpers", "lessons", "autograd_surprises", "tools/website")
    sources = [tmp_path / folder / "recording.py" for folder in folders]
    notebooks = [tmp_path / "a.ipynb", tmp_path / "b.ipynb"]

    def run(command, **options):
        ran.append(command[-2].stem)
        command[-1].write_text(json.dumps({command[-2].stem: {}}))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(building.subprocess, "run", run)
    monkeypatch.setattr(building, "ROOT", tmp_path)
    monkeypatch.setattr(building, "KEPT", tmp_path / "kept")
    for path in (*notebooks, *sources):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("first")
    for change, again in (
        (lambda: None, ["a", "b"]),
        (lambda: None, []),
        (lambda: notebooks[0].write_text("second"), ["a"]),
        *((lambda each=each: each.write_text("second"), ["a", "b"]) for each in sources),
        (lambda: monkeypatch.setattr("torch.__version__", "1.0"), ["a", "b"]),
        (lambda: monkeypatch.setattr("matplotlib.__version__", "1.0"), ["a", "b"]),
    ):
        change()
        ran.clear()
        assert building.recorded(notebooks) == {path: {path.stem: {}} for path in notebooks}
        assert sorted(ran) == again
        assert len(list(building.KEPT.iterdir())) == 2, "what is of no use is kept"


def built(folder, files, frozen):
    """A site of these files alone, without the pages of messages and of the atlas."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        named = {file: f"{file.stem}.html" for file in files}
        patch.setattr(building, "page_files", lambda: named)
        patch.setattr(building, "entry_pages", list)
        patch.setattr(building, "atlas_pages", list)
        building.build(folder, frozen)
    return folder


def test_each_page_and_the_search_have_what_stands_in_their_own_file(tmp_path, slider):
    a, b, c = files = [tmp_path / name for name in ("a.ipynb", "b.ipynb", "c.md")]
    c.write_text("# Text c\n\n## Part\n\nis c\n")
    frozen = {file: {f"slider-{file.stem}": slider} for file in (a, b)}
    for site, say in (("first", "is"), ("second", "is now")):
        for file in (a, b):
            said = new_output("stream", name="stdout", text=f"{say} {file.stem}")
            cells = [new_markdown_cell(f"# Why {file.stem}?\n\n## Part")]
            cells.append(new_code_cell("f()", outputs=[said]))
            nbformat.write(new_notebook(cells=cells), file)
        folder = built(tmp_path / site, files, frozen)
        for name, neighbour in (("a", {"next": "b.html"}), ("b", {"prev": "a.html"})):
            page = BeautifulSoup((folder / f"{name}.html").read_text(), "html.parser")
            assert page.title.string.startswith(f"Why {name}? · PyTorch"), "for search engines"
            assert [each.string for each in page.find_all("pre", "output")] == [f"{say} {name}"]
            assert {link["rel"][0]: link["href"] for link in page.select("a[rel]")} == neighbour
            assert page.find("script", src=f"frozen/{name}.js")
            script = (folder / "frozen" / f"{name}.js").read_text()
            assert re.findall(r"slider-\w", script) == [f"slider-{name}"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lesson_texts, "page_files", lambda: dict.fromkeys(files, "x.html"))
            stored = json.loads(lesson_texts.lesson_texts())
        parts = [[Path(address).name, *rest] for address, *rest in stored]
        assert [part for part in parts if part[2] == "Part"] == [
            ["a.ipynb#Part", "Why a?", "Part", f"f() {say} a"],
            ["b.ipynb#Part", "Why b?", "Part", f"f() {say} b"],
            ["c.md#part", "Text c", "Part", "is c"],
        ]


def test_a_folder_that_is_no_site_is_not_emptied(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "recorded", lambda notebooks: {})
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit, match="holds something other than a site"):
        command.main(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(("most", "code"), [(28, 0), (27, 1)])
def test_a_site_that_is_too_large_fails(tmp_path, monkeypatch, capsys, most, code):
    def build(site, frozen):
        (site / "static").mkdir()
        (site / "static" / "a.js").write_text("1234;\n")
        (site / "other.html").write_text("not loaded")
        (site / "00.html").write_text('src="static/a.js"\n1234')
        return [Page("index.html", "", ""), Page("00.html", "", "")]

    monkeypatch.setattr(command, "recorded", lambda notebooks: {})
    monkeypatch.setattr(command, "build", build)
    monkeypatch.setattr(building, "LARGEST_FIRST", most)
    assert command.main(tmp_path / "site") == code
    assert ("TOO LARGE" in capsys.readouterr().out) == code
