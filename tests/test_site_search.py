"""The website's search, in Node and without a page: it finds what Python finds.

tests/browser/test_site_search_from_disk.py has the pages.
"""

import base64
import gzip
import json
import re
import subprocess
from pathlib import Path

import playwright
from asked_questions import QUESTIONS
from pasted_texts import TWO, TYPED, UNKNOWN, pasted, retyped
from test_queries import QUERIES
from test_search import UNKNOWN_ERRORS

from autograd_surprises.messages import pasted as expressions
from autograd_surprises.messages import words
from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.queries import documents, find
from tools.website.entry_pages import entries_by_id
from tools.website.links import entry_url, page_files
from tools.website.search_index import STATIC, search_data, search_script

NODE = Path(playwright.__file__).parent / "driver" / "node"  # needs no browser
SLIPS = ("retian_graph", "detatch", "requries_grad", "jacobain", "gradeint is nna", "opti")


def in_node(tmp_path, *sources):
    """What the last of these scripts, an expression, is there."""
    script = tmp_path / "script.js"
    *scripts, expression = sources
    show = f"(async () => console.log(JSON.stringify(await ({expression}))))();"
    script.write_text("\n".join([*scripts, show]), encoding="utf-8")
    done = subprocess.run([NODE, script], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found_in_node(tmp_path, texts):
    """For each text, the places of what is found, whether it is a guess, and unknown words."""
    scripts = [(STATIC / "find.js").read_text(encoding="utf-8")]
    data = f"const texts = {json.dumps(texts)}, data = {json.dumps(search_data())};"
    asked = """((find, place) => texts.map(find).map(({found, isGuess, unknown, terms}) =>
      [found.map(each => data.documents.indexOf(each)), isGuess, unknown, terms]))(finder(data))"""
    return in_node(tmp_path, *scripts, data, asked)


def test_a_page_finds_what_python_finds(tmp_path):
    wordings = [text for message in all_messages() for text in message.wordings]
    known = [text.replace("…", "(3, 2)") for text in wordings]
    first, last = known[0], known[9]
    texts = [*known, *wordings, *UNKNOWN.values(), *TYPED, *SLIPS, TWO]
    texts += [*QUERIES, *(question["asked"] for question in QUESTIONS)]
    texts += [f"RuntimeError: {a}\n\nKeyError: {b}" for a, b in ((first, last), (last, first))]
    texts += [form for said in known[::9] for form in pasted(RuntimeError(said)).values()]
    texts += [" ".join(text.split()[:5]) for text in known]  # found by words
    texts += [text for said in known for text in retyped(said)] + [*UNKNOWN_ERRORS]
    assert len(texts) > 300
    places = {id(each): place for place, each in enumerate(documents())}
    for text, there in zip(texts, found_in_node(tmp_path, texts), strict=True):
        here = find(text)
        found = [places[id(each)] for each in here.found]
        assert there == [found, here.is_guess, list(here.unknown), list(here.terms)], text


def unpacked(script):
    """The data of the script, which is the string in its last line."""
    packed = re.fullmatch(r'window\.searchData = "(.*)";', script.splitlines()[-1])[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_script_has_all_data_and_is_the_same_each_time(monkeypatch):
    now = search_script()
    monkeypatch.setattr("time.time", lambda: 1.0)  # gzip would write it down
    assert search_script() == now
    assert unpacked(now) == json.loads(json.dumps(search_data()))
    assert len(unpacked(now)["documents"]) == len(documents())


def test_each_result_leads_to_a_page():
    pages = {*page_files().values(), *map(entry_url, entries_by_id())}
    links = [each["href"] for each in search_data()["documents"]]
    assert [link for link in links if link.partition("#")[0] not in pages] == []


def test_an_expression_means_the_same_in_javascript():
    """Others would match other letters in one of them, or are an error there."""
    replaced = [expression for expression, _ in (*expressions.AROUND, *words.ENDINGS)]
    ours = (words.NAME, words.PARTS, words.NEGATION)
    for expression in (expressions.NAME, expressions.END, expressions.TRACEBACK, *ours, *replaced):
        assert not re.search(r"\\[swbdSWBDAZ]|\(\?P|\(\?[aiLmsux]|\(\?#|[*+?}]\+", expression)
