"""The website, from disk and without network: pictures, questions, box, links, accessibility."""

import itertools
import json
import os
import re
from urllib.parse import unquote

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from pasted_texts import TWO, UNKNOWN, pasted, retyped
from test_queries import ASKED
from test_search import FOUND_FIRST, UNKNOWN_ERRORS

from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.queries import find
from lessons.asking.prediction import STORED
from tools.website.__main__ import LARGEST, build
from tools.website.sources import page_files

from .lab import wait_until

FILES = {f"{page}.html": path for path, page in page_files().items()}
OTHERS = ("index", "messages", "search", "atlas/index", "atlas/torch.clamp", "m/overwritten")
PAGES = [*FILES, *(f"{page}.html" for page in OTHERS), "m/hook/zero.html"]
SEEN = "place => place.querySelector('canvas').toDataURL()"
SAID = "place => place.lastElementChild.textContent"
# Outputs of which a reader sees a part only, and pictures that are cut off though they would fit:
# one panel that is wider than the page at a readable size scrolls sideways.
CUT_OFF = """() => {
  const wide = part => part.scrollWidth > part.clientWidth;
  const scrolls = part => getComputedStyle(part).overflowX === 'auto';
  return [...document.querySelectorAll('.cell_output pre')].filter(wide)
    .concat([...document.querySelectorAll('.strokes')].filter(part => wide(part) && !scrolls(part)))
    .map(part => part.textContent);
}"""
# All controls of an explorer at their first or last value, moved as a reader would.
UNFOLD = "() => document.querySelectorAll('article details').forEach(part => (part.open = true))"
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
  prune(document.querySelector('article'), '');
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
    assert build(folder, frozen) == 0, "Sphinx warns"
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
        page.locator("html[data-shown]").wait_for(state="attached")
        return page

    yield open_page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_without_kernel_and_network(open_page, site, shown, seen, name):
    page, path = open_page(name), FILES.get(name)
    assert page.locator("article details[open]").count() == 0, "an answer is in sight"
    page.evaluate(UNFOLD)
    for place in page.locator(".explorer").all():
        cell = place.get_attribute("id")
        of_pages = [shown[path]] if path else shown.values()  # the first page shows one of another
        check_explorer(place, next(cells[cell] for cells in of_pages if cell in cells))
    assert page.evaluate(ANSWERS) == (answers(path) if path in shown else [])
    for width in (1400, 800, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []
    assert not [url for url in page.asked if not url.startswith((site.as_uri(), "data:"))]
    assert page.complaints == []
    assert list(barriers(page, seen)) == []


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
def test_the_box_comes_first_and_the_first_slider_on_the_first_screen(open_page, width, height):
    page = open_page("index.html")
    page.set_viewport_size({"width": width, "height": height})
    box, slider = page.locator(".paste textarea"), page.locator("input[type=range]").first
    assert box.bounding_box()["y"] < page.locator("h1").bounding_box()["y"]
    assert wait_until(lambda: sum(map(slider.bounding_box().get, ("y", "height"))) < height, 20)
    assert width > 600 or slider.bounding_box()["height"] >= 44


def test_an_answer_opens_the_picture_below_it(open_page):
    page = open_page("00_start_here.html")
    picture = page.locator("#first-explorer canvas")
    assert not picture.is_visible()
    page.locator(".question input").first.click()
    picture.wait_for(state="visible")


def test_code_can_be_reached_before_the_pictures_are_drawn(open_page):
    page = open_page("index.html")
    page.set_viewport_size({"width": 400, "height": 800})
    unpacked = "Response.prototype.arrayBuffer"  # of what a picture draws
    page.add_init_script(f"{unpacked} = () => new Promise(() => {{}})")
    page.goto(page.url.replace("index", "00_start_here"))
    wide = "[...document.querySelectorAll('pre')].filter(pre => pre.scrollWidth > pre.clientWidth)"
    assert page.evaluate(f"{wide}.length") > 0 and not page.locator("canvas").count()
    assert page.evaluate(f"{wide}.every(pre => pre.tabIndex === 0)")


FIND = "texts => texts.map(text => findEntries(text))"


def test_the_box_finds_what_the_terminal_finds(open_page):
    page = open_page("messages.html")
    wordings = [text.replace("…", "(3, 2)") for each in all_messages() for text in each.wordings]
    texts = [*FOUND_FIRST, *UNKNOWN_ERRORS, *wordings, TWO, *UNKNOWN.values()]
    texts += [form for said in wordings[::9] for form in pasted(RuntimeError(said)).values()]
    texts += [text for said in wordings for text in retyped(said)]
    for text, (ids, is_guess) in zip(texts, page.evaluate(FIND, texts), strict=True):
        answer = find(text)
        assert is_guess == answer.is_guess, text
        if not is_guess:
            assert ids[:1] == [entry.id for entry in answer.entries[:1]], text


def test_the_box_answers_the_forty_questions(open_page):
    """By entries alone and plain words, so it finds two fewer than the terminal."""
    found = open_page("messages.html").evaluate(FIND, [asked["text"] for asked in ASKED])
    firsts = [ids[0] if ids else "" for ids, _ in found]
    right = [first in asked["ids"].split() for first, asked in zip(firsts, ASKED, strict=True)]
    assert sum(right) >= 34, firsts


def test_a_traceback_is_pasted_and_answered(open_page, site):
    page = open_page("m/hook/zero.html")
    page.get_by_text("Paste your message").click()
    box, status = (
        page.get_by_label("Your message or question"),
        page.locator(".paste [role=status]"),
    )
    said = "element 0 of tensors does not require grad and does not have a grad_fn"
    box.fill(pasted(RuntimeError(said))["Jupyter"])
    (hit,) = page.locator(".paste li").all()
    (entry,) = find(said).found
    assert hit.inner_text() == f"{said}: {entry.meaning}" and status.inner_text() == ""
    box.fill("how do I bake bread")
    assert "Nothing found" in status.inner_text() and page.locator(".paste li").count() == 0
    box.fill(UNKNOWN["another error"])
    assert "as a guess" in status.inner_text() and page.locator(".paste li").count() == 3
    box.fill("Why is my gradient None?")
    page.locator(".paste a").first.click()
    page.wait_for_url((site / "m/grad-is-none.html").as_uri())


def test_the_search_of_the_theme_works_from_disk(open_page):
    page = open_page("index.html")
    page.get_by_label("Search").fill("straight-through codebook")
    page.keyboard.press("Enter")
    page.locator(".search a", has_text="How does a codebook learn").first.wait_for()
    assert page.complaints == []


def test_the_address_of_a_rule_without_a_page_leads_to_its_line(open_page, site):
    page = open_page("index.html")
    page.goto((site / "m/cancel/balanced.html").as_uri())
    page.wait_for_url((site / "messages.html").as_uri() + "#cancel/balanced")


def test_the_site_is_not_too_large(site):
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) <= LARGEST


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
            place = (site / name).parent / target.partition("?")[0] if target else site / name
            page = os.path.relpath(place, site)
            if not place.exists():
                yield f"{name}: {link}: no such file"
            elif anchor and anchor not in ids[page]:
                yield f"{name}: {link}: no such heading"


def test_all_links_arrive(site):
    assert list(lost(site)) == []
