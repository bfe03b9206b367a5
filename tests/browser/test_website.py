"""The website, from disk and without network: pictures, questions, links and accessibility."""

import itertools
import json
import re
from urllib.parse import unquote

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup

from lessons.asking.prediction import STORED
from tools.website.building import build
from tools.website.links import page_files

PAGES = ["index.html", *page_files().values()]
SEEN = "place => place.querySelector('canvas').toDataURL()"
SAID = "place => place.lastElementChild.textContent"
# Outputs of which a reader sees a part only, and pictures that are cut off though they would fit:
# one panel that is wider than the page at a readable size scrolls sideways.
CUT_OFF = """() => {
  const wide = part => part.scrollWidth > part.clientWidth;
  const scrolls = part => getComputedStyle(part).overflowX === 'auto';
  return [...document.querySelectorAll('pre.output')].filter(wide)
    .concat([...document.querySelectorAll('.strokes')].filter(part => wide(part) && !scrolls(part)))
    .map(part => part.textContent);
}"""
# All controls of an explorer at their first or last value, moved as a reader would.
UNFOLD = "() => document.querySelectorAll('main details').forEach(part => (part.open = true))"
MOVE = {"Home": (0, False), "End": (-1, True)}
# [question, option, what is said] of each option of each question on the page
ANSWERS = """() => [...document.querySelectorAll('.question input')].map(input => {
  input.click();
  const box = input.closest('fieldset'), [question, said] = ['legend', '[role=status]'].map(
    selector => box.querySelector(selector));
  return [question, input.parentNode, said].map(element => element.textContent.trim());
})"""
# Opens folded parts, and removes elements that differ only in their text from one that was seen in
# such a place before: with all of them, axe takes minutes. Returns what was seen, as numbers.
LEAVE_OUT = """before => {
  const seen = new Set(before), told = ['class', 'style', 'role', 'type', 'tabindex'];
  const about = ({name, value}) => [name, told.includes(name) ? value : value !== ''];
  const tag = node => [node.nodeName, ...[...node.attributes ?? []].map(about)].join();
  const shape = node => node.nodeType === Node.TEXT_NODE ? node.data.trim() && 'text'
    : `${tag(node)}(${[...node.childNodes].map(shape)})`;
  const number = text => [...text].reduce((sum, letter) => 31 * sum + letter.charCodeAt() | 0, 0);
  const prune = (element, path) => [...element.children].forEach(child => {
    const key = number(path + shape(child));
    if (seen.has(key)) return child.remove();
    seen.add(key);
    const named = child.matches('a, button, fieldset, label, summary');
    if (!named) prune(child, `${path} ${tag(child)}`);
  });
  document.querySelectorAll('details').forEach(details => (details.open = true));
  prune(document.querySelector('main'), '');
  return [...seen];
}"""


@pytest.fixture(scope="module")
def shown(pictures):
    """{notebook: {cell: what tests/notebook_pictures.py wrote}}."""
    found = {path: {} for path in page_files() if path.suffix == ".ipynb"}
    for file in pictures:
        path = next(path for path in found if file.name.startswith(path.stem))
        found[path][file.stem[len(path.stem) + 1 :]] = json.loads(file.read_text())
    return found


@pytest.fixture(scope="module")
def site(shown, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    frozen = {
        path: {cell: tables["frozen"] for cell, tables in cells.items()}
        for path, cells in shown.items()
    }
    build(folder, frozen)
    return folder


@pytest.fixture(scope="module")
def seen():
    """The elements that axe has checked, as numbers."""
    return []


@pytest.fixture(scope="module")
def context(browser):
    context = browser.new_context(viewport={"width": 1300, "height": 900}, offline=True)
    context.set_default_timeout(200_000)
    yield context
    context.close()


@pytest.fixture
def open_page(site, context):
    """Opens a page of the site from disk, and keeps its requests and error messages."""
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))

    def open_page(name):
        page.goto((site / name).as_uri())
        if page.locator("[data-frozen]").count():
            page.locator("html[data-shown]").wait_for(state="attached")
        return page

    yield open_page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_without_kernel_and_network(open_page, site, shown, seen, name):
    page = open_page(name)
    path = next((path for path, url in page_files().items() if url == name), None)
    assert page.locator("main details[open]").count() == 0, "an answer is in sight"
    page.evaluate(UNFOLD)
    for place in page.locator("[data-frozen]").all():
        cell = place.get_attribute("data-frozen")
        of_pages = [shown[path]] if path else shown.values()  # the first page shows one of another
        check_explorer(place, next(cells[cell] for cells in of_pages if cell in cells))
    assert page.evaluate(ANSWERS) == (answers(path) if path in shown else [])
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(CUT_OFF) == []
    assert not [url for url in page.asked if not url.startswith((site.as_uri(), "data:"))]
    assert page.complaints == []
    needing_a_kernel = page.locator(".needs-kernel").count()
    assert page.locator(".needs-kernel a[href='index.html#kernel']").count() == needing_a_kernel
    assert list(barriers(page, seen)) == []


@pytest.mark.parametrize("name", ["m/overwritten.html", "m/zero-factor/number.html"])
def test_the_page_of_a_message_or_rule_is_accessible_and_leads_on(open_page, site, name):
    page = open_page(name)
    for width in (1300, 800, 390):
        page.set_viewport_size({"width": width, "height": 844})
        room = page.evaluate("[document.body.scrollWidth, document.body.clientWidth]")
        assert room[0] <= room[1], width
    page.get_by_role("combobox").fill("grad can be implicitly created only for scalar outputs")
    page.get_by_role("option").first.click()
    page.wait_for_url("**/m/vector-backward/several.html")
    page.get_by_role("link", name="Skip to the content").press("Enter")
    assert page.url == (site / "m/vector-backward/several.html").as_uri() + "#main"
    page.get_by_role("link", name="02: A number needs no weight").first.click()
    page.wait_for_url("**/02_backward_needs_a_gradient.html#A-number-needs-no-weight")
    assert page.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in page.asked)
    page = open_page(name)
    assert list(barriers(page, [])) == []


def check_explorer(place, tables):
    """Its picture follows its controls, and its text is the explorer's summary."""
    wanted = [tables["shown"][k]["summary"] for k in (-2, -1)]
    assert place.evaluate(SAID) == tables["summary"]
    seen = [place.evaluate(SEEN)]
    for (key, (end, ticked)), said in zip(MOVE.items(), wanted, strict=True):
        for slider in place.locator("input[type=range]").all():
            slider.press(key)
        for tick in place.locator("input[type=checkbox]").all():
            tick.set_checked(ticked)
        for menu in place.locator("select").all():
            menu.select_option(index=range(menu.locator("option").count())[end])
        assert place.evaluate(SAID) == said
        seen.append(place.evaluate(SEEN))
    assert seen[1] != seen[2], "nothing moved"


def answers(path):
    """What a page should answer to each option of its questions."""
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        stored = [output.get("data", {}).get(STORED, []) for output in cell.get("outputs", [])]
        for asked in itertools.chain(*stored):
            for option, why in asked["options"]:
                mark = "✓" if option == asked["right"] else "✗"
                found.append([asked["question"], option, f"{mark} {why}"])
    return [[text.replace("`", "") for text in answer] for answer in found]


def barriers(page, seen):
    """Serious findings of axe, in light and in dark, about elements that are new on this page."""
    seen[:] = page.evaluate(LEAVE_OUT, seen)
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        for found in Axe().run(page, options=options).response["violations"]:
            if found["impact"] in ("serious", "critical"):
                yield scheme, found["id"], [node["html"][:150] for node in found["nodes"][:5]]


@pytest.mark.parametrize("width, height", [(1300, 900), (400, 800)])
def test_the_first_slider_is_on_the_first_screen(open_page, width, height):
    page = open_page("index.html")
    page.set_viewport_size({"width": width, "height": height})
    # of a picture whose panels stand in a column, the first one
    for part, share in (("input[type=range]", 1), ("canvas", 1 if width > 600 else 0.5)):
        box = page.locator(f".explorer {part}").first.bounding_box()
        assert box["y"] + share * box["height"] < height


def test_an_answer_opens_the_picture_below_it(open_page):
    page = open_page("00_start_here.html")
    picture = page.locator('[data-frozen="first-explorer"] canvas')
    assert not picture.is_visible()
    page.locator(".question input").first.click()
    picture.wait_for(state="visible")


def test_a_button_in_the_text_sets_the_picture_of_its_section(open_page):
    page = open_page("02_backward_needs_a_gradient.html")
    page.evaluate(UNFOLD)
    place = page.locator('[data-frozen="two-outputs-explorer"]')
    page.locator(".in-text", has_text="only y2").click()
    assert "v1=0, v2=1:" in place.evaluate(SAID)
    before = place.evaluate(SEEN)
    page.locator(".in-text", has_text="a negative weight").press("Enter")
    assert place.evaluate(SEEN) != before


def test_code_can_be_reached_before_the_pictures_are_drawn(open_page):
    page = open_page("index.html")
    page.set_viewport_size({"width": 400, "height": 800})
    unpacked = "Response.prototype.arrayBuffer"  # of what a picture draws
    page.add_init_script(f"{unpacked} = () => new Promise(() => {{}})")
    page.goto(page.url.replace("index", "00_start_here"))
    wide = "[...document.querySelectorAll('pre')].filter(pre => pre.scrollWidth > pre.clientWidth)"
    assert page.evaluate(f"{wide}.length") > 0 and not page.locator("canvas").count()
    assert page.evaluate(f"{wide}.every(pre => pre.tabIndex === 0)")


HIDDEN_CELLS = """() => [...document.querySelectorAll('tbody tr:first-child')].flatMap(row =>
  [...row.cells].filter(cell => cell.innerText).filter(cell => {
    const {left, right} = cell.getBoundingClientRect();
    const room = row.closest('.wide').getBoundingClientRect().right + 1;
    return left < 0 || right > room || right - left < 100;
  }).map(cell => cell.innerText))"""


@pytest.mark.parametrize("name", ["ATLAS.html", "report_cards.html", "benchmarks.html"])
def test_a_phone_shows_all_columns_of_a_table_with_their_names(open_page, name):
    page = open_page(name)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator("tbody tr").count() > 1
    assert page.evaluate(HIDDEN_CELLS) == []
    label = "getComputedStyle(document.querySelector('[data-column]'), '::before').content"
    assert page.evaluate(label).strip('"')


def test_the_sign_of_the_focus_is_inside_what_scrolls(open_page):
    page = open_page("index.html")
    page.locator("canvas").first.focus()
    offset = "getComputedStyle(document.activeElement).outlineOffset"
    assert page.evaluate(offset) == "-3px"


def test_a_printed_page_has_white_pictures(open_page):
    page = open_page("index.html")
    page.emulate_media(color_scheme="dark")
    corner = "document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1).data[0]"
    page.wait_for_function(f"{corner} < 30")
    for event, is_white in (("beforeprint", True), ("afterprint", False)):
        # at once, or a print would come too early
        after = page.evaluate(f"(dispatchEvent(new Event('{event}')), {corner})")
        assert (after == 255) == is_white


def soups_of(site):
    return {
        file.relative_to(site).as_posix(): BeautifulSoup(file.read_text("utf-8"), "html.parser")
        for file in site.rglob("*.html")
    }


def lost(site):
    """Broken links and missing files of the pages."""
    soups = soups_of(site)
    ids = {name: {found["id"] for found in soup.find_all(id=True)} for name, soup in soups.items()}
    for name, soup in soups.items():
        for element in soup.find_all(["a", "link", "script", "img"]):
            link = element.get("href") or element.get("src") or ""
            target, _, anchor = unquote(link).partition("#")
            if re.match("(https|data):", link):
                continue
            if not (site / (target or name)).exists():
                yield f"{name}: {link}: no such file"
            elif anchor and anchor not in ids[target or name]:
                yield f"{name}: {link}: no such heading"


def test_all_links_arrive(site):
    assert list(lost(site)) == []


def test_no_formula_and_no_diagram_is_left_as_source(site):
    """They would stay source: the pages load nothing that draws them."""
    for name, soup in soups_of(site).items():
        assert not soup.select("[class*=mermaid]"), name
        for code in soup.select("code, pre, script, style"):
            code.extract()
        assert not re.search(r"\$[^$\n]+\$", soup.get_text()), name
