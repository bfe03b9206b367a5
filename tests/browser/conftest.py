"""One JupyterLab and one Chromium for all browser tests, and a picture of each failure."""

import re

import pytest
from lab import CHROMIUM_FLAGS, ROOT, NotebookPage, running_lab

SCREENSHOTS = ROOT / "build" / "screenshots"


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright  # the other tests need no playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """A JupyterLab that shows a copy of notebooks/. Needs a browser, or there is nobody to look."""
    with running_lab(tmp_path_factory.mktemp("lab"), ROOT / "notebooks") as lab:
        yield lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.call_failed = report.failed
    return report


@pytest.fixture
def open_notebook(lab, browser, request):
    """Opens a notebook of notebooks/ by its name. A failed test leaves a screenshot."""
    contexts = []

    def open_notebook(path, **options):
        context = browser.new_context(viewport={"width": 1300, "height": 900}, **options)
        contexts.append(context)
        context.set_default_timeout(20_000)
        return NotebookPage(context.new_page(), lab, path)

    yield open_notebook
    for context in contexts:
        if getattr(request.node, "call_failed", True):
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", request.node.name).strip("-")
            for page in context.pages:
                page.screenshot(path=SCREENSHOTS / f"{name}.png")
        context.close()
    lab.end_kernels()


@pytest.fixture
def open_cells(lab, open_notebook):
    """Writes a notebook of these code cells, and opens it."""

    def open_cells(*sources, **options):
        lab.write("written_by_a_test.ipynb", *sources)
        return open_notebook("written_by_a_test.ipynb", **options)

    return open_cells
