"""The website's search, opened from disk: in the field of notebook 00, and on each page."""

import re

import pytest
from asked_questions import QUESTIONS
from pasted_texts import EXAMPLES, TWO, TYPED, UNKNOWN, pasted

from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.queries import UNKNOWN_ERROR, documents, find
from tools.printed_by_torch import every_warning, printed_by_torch
from tools.website.search_index import STATIC, search_script

INDEX_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{static}/symptoms.css"><script src="{static}/find.js"></script>
<script src="{static}/symptoms.js"></script>
<title>Messages</title><div data-symptoms><p>all messages</p></div>
<script>showSymptoms(document.querySelector('[data-symptoms]'), 'index.js');</script>"""
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{static}/search.css"><title>Search</title>
<header><div data-search="{index}"></div></header>
<label>width <input type="range"></label><label>notes <textarea></textarea></label>
<script src="{static}/find.js"></script><script src="{static}/search.js"></script>"""
# The places of what is found.
FIND = """async texts => {
  const {find, data} = await loadSearch('index.js');
  return texts.map(text => find(text).found.map(found => data.documents.indexOf(found)));
}"""


@pytest.fixture
def open_file(browser, tmp_path):
    """Opens HTML as a file. Fails if it loads anything from outside its folder, or complains."""
    wrong, contexts = [], []

    def open_file(html, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("requestfailed", lambda request: wrong.append(request.url))
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def symptoms(open_file, tmp_path):
    (tmp_path / "index.js").write_text(search_script(), encoding="utf-8")
    return open_file(INDEX_PAGE.format(static=STATIC.as_uri()))


def test_the_page_finds_what_python_finds(symptoms):
    texts = [*UNKNOWN.values(), *TYPED, TWO, *(question["asked"] for question in QUESTIONS)]
    texts += [text for message in all_messages() for text in message.wordings]
    with every_warning():
        quick = [code for _, _, code in EXAMPLES if not re.search("compile|checkpoint", code)]
        for i, code in enumerate(quick):
            (error,) = printed_by_torch(code)
            texts += [*pasted(error).values()][i % 4 :: 4]  # each form, for many messages
    places = symptoms.evaluate(FIND, texts)
    for text, found in zip(texts, places, strict=True):
        assert found == [documents().index(each) for each in find(text).found], text


def test_a_traceback_is_pasted_and_answered(symptoms):
    field, status = (
        symptoms.get_by_label("Your question or message"),
        symptoms.get_by_role("status"),
    )
    everything, answers = symptoms.get_by_text("all messages"), symptoms.get_by_role("listitem")
    assert everything.is_visible() and answers.count() == 0
    said = "element 0 of tensors does not require grad and does not have a grad_fn"
    field.fill(pasted(RuntimeError(said))["Jupyter"])
    symptoms.get_by_text("found: 1").wait_for()
    (entry,) = find(said).found
    answer = answers.inner_text()
    assert all(text in answer for text in (said, entry.meaning, entry.fix)), answer
    links = symptoms.get_by_role("link").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert links[0] == "01_parameter_or_variable.html#Which-tensors-get-a-gradient"
    assert links == [cause.address.replace(".ipynb", ".html") for cause in entry.causes]
    assert not everything.is_visible()

    asked = "Why is my gradient None?"
    field.fill(asked)
    first = answers.first
    assert first.locator("strong code").all_inner_texts() == ["None", ".grad", "backward()"]
    assert first.get_by_role("link").count() == len(find(asked).found[0].causes)

    field.fill("REINFORCE")
    section = find("REINFORCE").found[0]
    assert first.get_by_role("link").inner_text() == f"22: {section.heading}"
    assert first.locator("mark").first.inner_text() == "REINFORCE"

    field.fill("how do I bake bread")
    assert "bake" in status.inner_text() and "guess" in status.inner_text()
    assert answers.count() == len(find("how do I bake bread").found)

    field.fill(UNKNOWN["another error"])
    assert status.inner_text() == UNKNOWN_ERROR
    assert answers.count() == len(find(UNKNOWN["another error"]).found)
    field.fill(" ")
    assert status.inner_text() == "" and everything.is_visible()


@pytest.fixture
def site(open_file, tmp_path):
    """A page with the search, and one to which its results may lead."""
    (tmp_path / "index.js").write_text(search_script(), encoding="utf-8")
    (tmp_path / "22_six_estimators.html").write_text("<!doctype html><title>22</title>")
    return open_file(PAGE.format(static=STATIC.as_uri(), index="index.js"))


def search_for(page, text):
    """Type this; returns the names of what is found."""
    page.get_by_role("combobox").fill(text)
    page.wait_for_function(
        "/found|Nothing/.test(document.querySelector('[role=status]').textContent)"
    )
    return page.locator("[role=option] .search-heading").all_inner_texts()


def test_the_index_is_loaded_when_the_field_gets_the_focus(site):
    assert site.evaluate("window.searchData") is None
    site.get_by_role("combobox").focus()
    site.wait_for_function("window.searchData")


@pytest.mark.parametrize(
    "text, first, marked",
    [
        ("average_tokens_across", "Shares of unequal length", "average_tokens_across_devices"),
        ("REINFORCE", "REINFORCE, and a baseline", "REINFORCE"),
        ("at the BOUND", "At the bound", "bound"),
        ("gumbel softmax", "Gumbel-softmax, soft and hard", "softmax"),
    ],
)
def test_names_and_headings_are_found(site, text, first, marked):
    assert search_for(site, text)[0] == first
    best = site.get_by_role("option").first
    marks = best.locator("mark").all_inner_texts()
    assert any(re.fullmatch(marked, mark) for mark in marks), best.inner_text()


def test_a_message_and_a_question_say_what_they_are(site):
    (name,) = search_for(site, "ImportError: No module named 'pytorch'")
    assert name == "No module named 'pytorch'"
    assert site.locator(".search-page").all_inner_texts() == ["Message"]
    assert search_for(site, "Why is my gradient None?")[0].startswith("The gradient is None")
    assert site.locator(".search-page").first.inner_text() == "Question"
    assert search_for(site, "RuntimeError: o")  # on the way to a message, many are found
    (name, *_) = search_for(site, "Double backwards is not supported for CuDNN RNNs")
    assert "cudnn" in name.lower()
    search_for(site, "detach gan")
    texts = site.locator(".search-text").all_inner_texts()
    assert "fake.detach()" in texts[0] and not any("`" in text for text in texts)


def test_what_nobody_wrote_about_is_said(site):
    status = site.get_by_role("status")
    assert search_for(site, "0") == [] and "Nothing found" in status.inner_text()
    assert len(search_for(site, "how do I bake bread")) == len(find("how do I bake bread").found)
    assert "bake" in status.inner_text() and "guess" in status.inner_text()


def test_the_search_is_used_by_keyboard(site):
    field, keys = site.get_by_role("combobox"), site.keyboard
    site.get_by_label("notes").focus()
    keys.press("/")
    assert site.get_by_label("notes").input_value() == "/"
    site.get_by_label("width").focus()
    keys.press("/")
    assert field.evaluate("field => field === document.activeElement") and not field.input_value()
    assert len(search_for(site, "clamp")) == 6
    assert field.get_attribute("aria-expanded") == "true"
    options = site.get_by_role("option")
    for key, chosen in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", 5)):
        keys.press(key)
        active = options.nth(chosen)
        assert field.get_attribute("aria-activedescendant") == active.get_attribute("id")
        assert site.locator("[aria-selected=true]").count() == 1
        assert active.get_attribute("aria-selected") == "true"
    keys.press("Escape")
    assert field.input_value() == "" and field.get_attribute("aria-expanded") == "false"
    keys.press("Escape")
    assert not site.get_by_role("status").is_visible()

    keys.press("/")
    search_for(site, "REINFORCE baseline")
    keys.press("Enter")
    site.wait_for_url("**/22_six_estimators.html#REINFORCE,-and-a-baseline")


def test_a_result_is_clicked_and_fits_a_narrow_page(site):
    site.set_viewport_size({"width": 400, "height": 700})
    search_for(site, "element 0 of tensors")
    assert site.evaluate("document.documentElement.scrollWidth") <= 400
    box = site.locator(".search-panel").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 400
    search_for(site, "REINFORCE baseline")
    site.get_by_role("option").first.click()
    site.wait_for_url("**/22_six_estimators.html#*")


def test_a_missing_index_is_named(browser, tmp_path):
    (tmp_path / "page.html").write_text(PAGE.format(static=STATIC.as_uri(), index="lost.js"))
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.get_by_role("combobox").focus()
    page.get_by_text("The search needs the file lost.js").wait_for()
    page.close()


def test_who_tabs_past_the_search_does_not_see_it_again(site):
    panel = site.locator(".search-panel")
    site.get_by_role("combobox").evaluate("field => (field.focus(), field.blur())")
    site.locator(".search-panel:not([aria-busy])").wait_for(state="attached")
    assert not panel.is_visible()
