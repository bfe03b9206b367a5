"""The website's two searches, in Node and without a page: they find what Python finds.

tests/browser/test_site_search_from_disk.py has the pages.
"""

import base64
import gzip
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import playwright
from asked_questions import QUESTIONS
from pasted_texts import TWO, TYPED, UNKNOWN, pasted

from autograd_surprises.messages import pasted as expressions
from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.index import find_entries, index_entries
from tools.website.search_index import search_script
from tools.website.symptom_index import STATIC, symptom_data

NODE = Path(playwright.__file__).parent / "driver" / "node"  # needs no browser
PAGES = [
    SimpleNamespace(
        url="03.html",
        title="Why is it 0?",
        sections=[("", "", "  "), ("At <the> bound", "At-the-bound", "a\n\tb </script> é\n")],
    ),
    SimpleNamespace(
        url="a.html", title="Atlas", sections=[("", "", "a bound"), ("Empty", "e", "")]
    ),
]


def in_node(tmp_path, *sources):
    """What the last of these scripts, an expression, is there."""
    script = tmp_path / "script.js"
    *scripts, expression = sources
    show = f"(async () => console.log(JSON.stringify(await ({expression}))))();"
    script.write_text("\n".join([*scripts, show]), encoding="utf-8")
    done = subprocess.run([NODE, script], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_page_finds_what_python_finds(tmp_path):
    wordings = [text for message in all_messages() for text in message.wordings]
    known = [text.replace("…", "(3, 2)") for text in wordings]
    first, last = known[0], known[9]
    texts = [*known, *wordings, *UNKNOWN.values(), *TYPED, TWO]
    texts += [question["asked"] for question in QUESTIONS]
    texts += [f"RuntimeError: {a}\n\nKeyError: {b}" for a, b in ((first, last), (last, first))]
    texts += [form for said in known[::9] for form in pasted(RuntimeError(said)).values()]
    symptoms = (STATIC / "symptoms.js").read_text(encoding="utf-8")
    data = f"const texts = {json.dumps(texts)}, data = {json.dumps(symptom_data())};"
    found = "texts.map(text => findSymptoms(text, data).map(each => data.symptoms.indexOf(each)))"
    places = {entry.id: place for place, entry in enumerate(index_entries())}
    for text, there in zip(texts, in_node(tmp_path, symptoms, data, found), strict=True):
        assert there == [places[entry.id] for entry in find_entries(text)], text


FOUND = {
    "bound": ["At <the> bound", "Atlas"],
    "atlas": ["Atlas"],
    "script": ["At <the> bound"],
    "empty": ["Empty"],
    "qwertz": [],
}


def test_titles_headings_and_texts_are_searched(tmp_path):
    page = "module = exports = undefined; globalThis.window = globalThis;"
    search = (STATIC / "search.js").read_text(encoding="utf-8")
    start = "document.querySelectorAll('[data-search]').forEach(addSearch);"
    assert search.count(start) == 1
    search = search.replace(start, "Object.assign(globalThis, {searchIn, unpacked});")
    asked = f"""unpacked(searchText).then(searchIn).then(search => {json.dumps([*FOUND])}.map(
      query => search(query).found.map(({{heading, title}}) => heading || title)))"""
    found = in_node(tmp_path, page, search_script(PAGES), search, asked)
    assert dict(zip(FOUND, found, strict=True)) == FOUND


def unpacked(script):
    """The data of the script, which is the string in its last line."""
    packed = re.fullmatch(r'window\.searchText = "(.*)";', script.splitlines()[-1])[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_script_has_every_section_with_words_and_is_the_same_each_time(monkeypatch):
    now = search_script(PAGES)
    monkeypatch.setattr("time.time", lambda: 1.0)  # gzip would write it down
    assert search_script(PAGES) == now
    assert unpacked(now) == {
        "pages": [["03.html", "Why is it 0?"], ["a.html", "Atlas"]],
        "sections": [
            [0, "At <the> bound", "At-the-bound", "a b </script> é"],
            [1, "", "", "a bound"],
            [1, "Empty", "e", ""],
        ],
    }


def test_the_index_has_all_entries_and_is_json():
    data = symptom_data()
    assert json.loads(json.dumps(data)) == json.loads(json.dumps(symptom_data()))
    for expected, entry in zip(index_entries(), data["symptoms"], strict=True):
        assert tuple(entry["texts"]) == expected.texts
        assert [text for _, text in entry["said"]] == [expected.meaning, expected.fix][
            : 1 + expected.is_message
        ]
        assert [(what, page.replace(".html", ".ipynb")) for what, _, page in entry["causes"]] == [
            *expected.causes
        ]


def test_an_expression_means_the_same_in_javascript():
    """Others would match other letters in one of them, or are an error there."""
    around = [expression for expression, _ in expressions.AROUND]
    for expression in (expressions.NAME, expressions.END, expressions.TRACEBACK, *around):
        assert not re.search(r"\\[swbdSWBDAZ]|\(\?P|\(\?[aiLmsux]|\(\?#|[*+?}]\+", expression)
