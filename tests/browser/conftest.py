"""One JupyterLab and one Chromium for all browser tests, and a picture of each failure."""

import re
from pathlib import Path

import pytest

from .lab import CHROMIUM_FLAGS, ROOT, WINDOW, running_lab
from .notebook_page import NotebookPage

WRITTEN = "written_by_a_test.ipynb"
SCREENSHOTS = ROOT / "build" / "screenshots"
STROKES = ROOT / "autograd_surprises" / "show" / "strokes.js"
LOAD = """async source => {
  window.strokes = await import('data:text/javascript;charset=utf-8,' + encodeURIComponent(source));
}"""
FIRST = "test_first_slider_in_jupyterlab"  # the one that `make test` runs


@pytest.hookimpl(tryfirst=True)  # -m looks at the marks
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            if item.path.stem != FIRST:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def browser(chromium):
    from playwright.sync_api import sync_playwright  # the other tests need no playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_empty(browser):
    """Opens an empty page, without JupyterLab, that has the module of the strokes."""
    contexts = []

    def open_empty(**options):
        contexts.append(browser.new_context(viewport=WINDOW, **options))
        page = contexts[-1].new_page()
        page.evaluate(LOAD, STROKES.read_text(encoding="utf-8"))
        return page

    yield open_empty
    for context in contexts:
        context.close()


@pytest.fixture(scope="package")
def pictures(moved_explorers):
    """A file of each explorer of each notebook: what it shows."""
    return sorted(moved_explorers.glob("[0-9]*.json"))


@pytest.fixture(scope="package")
def lab(browser, tmp_path_factory):
    """A JupyterLab that shows a copy of notebooks/. Not started without a browser."""
    with running_lab(tmp_path_factory.mktemp("lab"), ROOT / "notebooks") as lab:
        yield lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.call_failed = report.failed
    return report


@pytest.fixture(scope="package")
def tidy_pages():
    """Loaded pages without a notebook, kept because JupyterLab takes seconds to load."""
    return []


@pytest.fixture
def open_notebook(lab, browser, tidy_pages, request):
    """Opens a notebook of notebooks/ by its name, in the page that the last test has left.

    With `alone`, in a page that no other test sees. A failed test leaves a screenshot.
    """
    opened = []

    def open_notebook(path, alone=False):
        if tidy_pages and not alone:
            page = tidy_pages.pop()
            page.set_viewport_size(WINDOW)
        else:
            context = browser.new_context(viewport=WINDOW)
            context.set_default_timeout(60_000)
            page = context.new_page()
        opened.append((page, None, alone))
        lab.share_kernel(path)
        notebook = NotebookPage(page, lab, path)
        opened[-1] = page, notebook, alone
        return notebook

    yield open_notebook
    failed = getattr(request.node, "call_failed", True)
    for page, notebook, alone in opened:
        if failed:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", request.node.name).strip("-")
            page.screenshot(path=SCREENSHOTS / f"{name}.png")
        else:
            notebook.close()
        if failed or alone:
            page.context.close()
        else:
            tidy_pages.append(page)
    lab.end_kernels(shared=failed)


@pytest.fixture
def open_cells(lab, open_notebook):
    """Writes a notebook of these code cells, and opens it."""

    def open_cells(*sources, alone=False):
        lab.write(WRITTEN, *sources)
        return open_notebook(WRITTEN, alone)

    return open_cells
