"""JupyterLab as a reader has it: opening, links, and what stays when page or kernel are new."""

import re
import time

import pytest
from nbformat import read, write
from nbformat.v4 import new_markdown_cell

from tools.notebooks import notebook_files, sections

from .lab import EXPLORER, QUESTION, ROOT, TRACKER, cells_to_run, wait_until
from .notebook_page import IS_OPEN, OVERLAPS, SCROLLS, NotebookPage

NOTEBOOKS = ROOT / "notebooks"
SHOWN_ALONE = re.compile(f"{EXPLORER.pattern}|{QUESTION.pattern}")
SECTION_LINK = re.compile(r"\[([^]]+)\]\((\d\d_\w+\.ipynb)#([^)]+)\)")
# The kernel runs, and JupyterLab has noted which language it speaks.
IS_READY = """() => {
  const {sessionContext} = window.jupyterapp.shell.currentWidget;
  return sessionContext.kernelDisplayStatus === 'idle'
    && sessionContext.session.kernel.info.then(() => new Promise(done => setTimeout(done, 200, 1)));
}"""
MESSAGE = ".Toastify__toast"
# Where a reader sees a heading: from 0 at the upper edge of the notebook to 1.
PLACE = """anchor => {
  const panel = window.jupyterapp.shell.currentWidget.node;
  const box = panel.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
  const name = CSS.escape(anchor);  // JupyterLab 4.2 writes it as id
  const heading = panel.querySelector(`[id="${name}"], [data-jupyter-id="${name}"]`);
  return heading ? (heading.getBoundingClientRect().top - box.top) / box.height : null;
}"""


@pytest.fixture
def open_as_reader(lab, browser):
    """Opens a notebook in a page of its own."""
    context = browser.new_context()

    def open_as_reader(name, width=1400):
        page, workspace = context.new_page(), f"reader-{time.monotonic_ns()}"
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{lab.url}lab/workspaces/{workspace}/tree/{name}?token={lab.token}")
        page.wait_for_function(IS_OPEN, arg=name, polling=50)
        return page

    with lab.as_a_reader_has_it():
        yield open_as_reader
    context.close()
    lab.end_kernels()


def far_section(texts):
    """(words, notebook, anchor) of the first link to a section far down in another notebook."""
    for text in texts:
        for words, name, anchor in SECTION_LINK.findall(text.replace("`", "")):
            cells = read(NOTEBOOKS / name, as_version=4).cells[20:]
            if any(f"# {anchor.replace('-', ' ')}" in cell.source for cell in cells):
                return words, name, anchor


START = read(NOTEBOOKS / "00_start_here.ipynb", as_version=4)
TEXTS = [cell.source for cell in START.cells if cell.cell_type == "markdown"]
INDEX = [
    output.data.get("text/markdown", "")
    for cell in START.cells
    for output in cell.get("outputs", [])
    if "data" in output
]


def follow(page, words, name):
    page.get_by_role("link", name=words, exact=True).first.click()
    page.get_by_role("status").filter(has_text="Going to").wait_for()
    page.wait_for_function(IS_OPEN, arg=name, polling=50)


@pytest.mark.parametrize("texts", [TEXTS, INDEX], ids=["in the text", "in the index"])
def test_the_first_click_on_a_link_lands_at_its_section(open_as_reader, texts):
    words, name, anchor = far_section(texts)
    page = open_as_reader("00_start_here.ipynb")
    follow(page, words, name)
    assert wait_until(lambda: is_seen(page, anchor)), page.evaluate(PLACE, anchor)
    page.wait_for_function(IS_READY, polling=50)
    assert is_seen(page, anchor) and page.get_by_text("Going to").count() == 0


def test_a_reader_who_scrolls_away_is_not_brought_back(open_as_reader):
    words, name, anchor = far_section(TEXTS)
    page = open_as_reader("00_start_here.ipynb")
    follow(page, words, name)
    assert wait_until(lambda: is_seen(page, anchor))
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -2000)
    page.wait_for_timeout(1000)
    assert not is_seen(page, anchor)
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    page.keyboard.press("Shift+Enter")  # the setup cell, which imports for seconds
    page.mouse.wheel(0, 9000)
    page.wait_for_timeout(8000)
    assert page.get_by_text("Ready: torch").last.bounding_box()["y"] < 0, "brought back"


def is_seen(page, anchor):
    place = page.evaluate(PLACE, anchor)
    return place is not None and 0 <= place < 0.9


def test_a_link_within_a_long_notebook_lands_at_its_section(open_as_reader, lab):
    notebook = read(NOTEBOOKS / "23_checkpoints_and_freezing.ipynb", as_version=4)
    words, _ = sections(notebook)[-1]
    anchor = words.replace(" ", "-")
    notebook.cells.insert(0, new_markdown_cell(f"[{words}](#{anchor})"))
    write(notebook, lab.folder / "link_within.ipynb")
    # As JupyterLab 4.2 does: most cells are drawn later, and their headings cannot be found yet.
    lab.set(TRACKER, {"windowingMode": "full"})
    page = open_as_reader("link_within.ipynb")
    page.get_by_role("link", name=words, exact=True).first.click()
    assert wait_until(lambda: is_seen(page, anchor), seconds=30), page.evaluate(PLACE, anchor)


@pytest.mark.parametrize(("width", "is_folded"), [(1000, False), (999, True)])
def test_the_file_browser_leaves_a_narrow_window_to_the_notebook(open_as_reader, width, is_folded):
    page = open_as_reader("00_start_here.ipynb", width)
    page.wait_for_function(IS_READY, polling=50)
    assert page.locator(".jp-FileBrowser").is_hidden() == is_folded


def test_after_shift_enter_each_picture_or_question_is_whole_and_what_comes_next_is_not_seen(
    open_as_reader, lab
):
    page, wrong = None, []
    for path in notebook_files():
        notebook = read(path, as_version=4)
        words = [cell.id for cell in notebook.cells if cell.cell_type == "markdown"]
        name = lab.shorten(path.name, [*cells_to_run(notebook), *words])
        lab.share_kernel(name)
        page = page or open_as_reader(name)
        opened = NotebookPage(page, lab, name)
        for i in opened.read():
            if SHOWN_ALONE.search(opened.notebook.cells[i].source):
                wait_until(lambda opened=opened, i=i: not opened.out_of_place(i), seconds=20)
                page.wait_for_timeout(800)  # it has to stay
                wrong += [(name, opened.notebook.cells[i].id)] * opened.out_of_place(i)
        boxes = [explorer.box for explorer in opened.explorers()]
        wrong += [(name, "scrolls") for box in boxes if box.evaluate(SCROLLS)]
        wrong += [(name, each) for box in boxes for each in box.evaluate(OVERLAPS)]
        wrong += page.locator(MESSAGE).all_inner_texts()  # would cover it
        opened.close()
    assert wrong == []
