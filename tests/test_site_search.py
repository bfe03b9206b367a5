"""The data of the website's searches: the text of all pages, and the catalogue of messages."""

import base64
import gzip
import json
import re
from types import SimpleNamespace

from autograd_surprises.messages import pasted
from autograd_surprises.messages.catalogue import all_messages, contains
from autograd_surprises.messages.index import index_entries
from tools.website.search_index import search_script
from tools.website.symptom_index import symptom_data

PAGES = [
    SimpleNamespace(
        url="03.html",
        title="Why is it 0?",
        sections=[("", "", "  "), ("At <the> bound", "At-the-bound", "a\n\tb </script> é\n")],
    ),
    SimpleNamespace(url="a.html", title="Atlas", sections=[("", "", "first"), ("Empty", "e", "")]),
]


def unpacked(script):
    """The data of the script, which is the string in its last line."""
    packed = re.fullmatch(r'window\.searchText = "(.*)";', script.splitlines()[-1])[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_script_has_every_section_with_words():
    assert unpacked(search_script(PAGES)) == {
        "pages": [["03.html", "Why is it 0?"], ["a.html", "Atlas"]],
        "sections": [
            [0, "At <the> bound", "At-the-bound", "a b </script> é"],
            [1, "", "", "first"],
            [1, "Empty", "e", ""],
        ],
    }


def test_the_script_is_the_same_each_time(monkeypatch):
    now = search_script(PAGES)
    monkeypatch.setattr("time.time", lambda: 1.0)  # gzip would write it down
    assert search_script(PAGES) == now


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
        assert {*entry["shownWords"]} <= {*entry["words"]} == expected.words
    for message, entry in zip(all_messages(), data["messages"], strict=True):
        assert data["symptoms"][entry["place"]]["texts"] == [*message.examples]


def test_an_expression_means_the_same_in_javascript():
    """Others would match other letters in one of them, or are an error there."""
    data = symptom_data()
    written = [data["name"], data["end"], data["traceback"], *(pair[0] for pair in data["around"])]
    assert written == [pasted.NAME, pasted.END, pasted.TRACEBACK, *(a for a, _ in pasted.AROUND)]
    for expression in written:
        assert not re.search(r"\\[swbdSWBDAZ]|\(\?P|\(\?[aiLmsux]|\(\?#|[*+?}]\+", expression)


def test_the_pattern_of_a_text_finds_what_the_text_finds():
    texts = [text for message in all_messages() for text in message.wordings]
    patterns = [
        pattern for message in symptom_data()["messages"] for pattern in message["patterns"]
    ]
    for text, pattern in zip(texts, patterns, strict=True):
        for printed in texts:
            printed = printed.replace("…", "(3, 2)")
            assert bool(re.search(pattern, printed, re.IGNORECASE)) == contains(printed, text)
