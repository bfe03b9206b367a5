"""The searches of the website, opened from disk: of error messages and of the whole text."""

import json
import re

import pytest
from pasted_texts import EXAMPLES, TYPED, UNKNOWN, every_warning, pasted, said_by_torch

from autograd_surprises.messages import MESSAGES, find_messages
from helpers.lessons.symptoms import NOTHING_FOUND
from tools.website.symptom_index import STATIC, symptom_data

pytestmark = pytest.mark.browser

SYMPTOMS = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{static}/symptoms.css"><script src="{static}/symptoms.js"></script>
<title>Messages</title><div data-symptoms><p>all messages</p></div>
<script>
  window.symptoms = {data};
  showSymptoms(document.querySelector('[data-symptoms]'), symptoms);
</script>"""
# The places of the messages that are found.
FIND = "texts => texts.map(text => findMessages(text, symptoms).map(found => found.place))"


@pytest.fixture
def open_file(browser, tmp_path):
    """Opens HTML as a file, and fails if it asked for anything outside its folder or complained."""
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
def symptoms(open_file):
    data = json.dumps(symptom_data()).replace("</", "<\\/")
    return open_file(SYMPTOMS.format(static=STATIC.as_uri(), data=data))


def test_the_page_finds_what_python_finds(symptoms):
    texts = [*UNKNOWN.values(), *TYPED]
    texts += [text for message in MESSAGES for text in (*message.examples, *message.variants)]
    with every_warning():
        quick = [code for _, _, code in EXAMPLES if not re.search("compile|checkpoint", code)]
        for i, code in enumerate(quick):
            (error,) = said_by_torch(code)
            texts += [*pasted(error).values()][i % 4 :: 4]  # each way for many messages
    places = symptoms.evaluate(FIND, texts)
    listed = symptoms.evaluate("symptoms.messages.map(({place}) => place)")
    for text, found in zip(texts, places, strict=True):
        in_python = [listed[MESSAGES.index(message)] for message in find_messages(text)]
        assert found == in_python, text


def test_a_traceback_is_pasted_and_answered(symptoms):
    field, status = symptoms.get_by_label("Your message"), symptoms.get_by_role("status")
    everything, answers = symptoms.get_by_text("all messages"), symptoms.get_by_role("listitem")
    assert everything.is_visible() and answers.count() == 0
    said = "element 0 of tensors does not require grad and does not have a grad_fn"
    field.fill(pasted(RuntimeError(said))["Jupyter"])
    assert status.inner_text() == "1 message found"
    (message,) = find_messages(said)
    answer = answers.inner_text()
    assert all(text in answer for text in (said, message.meaning, message.fix)), answer
    link = symptoms.get_by_role("link").get_attribute("href")
    assert link == "01_parameter_or_variable.html#Which-tensors-get-a-gradient"
    assert not everything.is_visible()

    field.fill(UNKNOWN["another error"])
    assert status.inner_text() == NOTHING_FOUND and answers.count() == 0
    field.fill(" ")
    assert status.inner_text() == "" and everything.is_visible()
