"""The one search for pages, as a script: it works from disk and needs no kernel.

A page opened as a file may load a classic script, but may neither fetch data nor import a module.
"""

import base64
import gzip
import json
import re
from pathlib import Path

from autograd_surprises.messages import pasted, queries, words
from autograd_surprises.messages.catalogue import all_messages
from autograd_surprises.messages.entries import Message, Section
from lessons.start_here.index_text import SECTION, explanation, name_of, section_name
from tools.website.links import NOTEBOOKS, entry_url, page_url

STATIC = Path(__file__).parent / "static"


def search_script() -> str:
    """The script that static/find.js loads: the packed `searchData`."""
    packed = gzip.compress(json.dumps(search_data(), ensure_ascii=False).encode(), mtime=0)
    return f'window.searchData = "{base64.b64encode(packed).decode()}";\n'


def search_data() -> dict:
    """The data with which static/find.js finds the same as `find` of messages/queries.py."""
    documents = queries.documents()
    places = {each.id: k for k, each in enumerate(documents) if not isinstance(each, Section)}
    return {
        "common": sorted(words.COMMON),
        "endings": words.ENDINGS,
        "negation": words.NEGATION,
        "name": words.NAME,
        "parts": words.PARTS,
        "fewestLetters": queries.FEWEST_LETTERS,
        "alike": queries.ALIKE,
        "subject": queries.SUBJECT,
        "enough": queries.ENOUGH,
        "enoughOfAnother": queries.ENOUGH_OF_ANOTHER,
        "enoughOfAMessage": queries.ENOUGH_OF_A_MESSAGE,
        "most": queries.MOST,
        "boosts": queries.BOOSTS,
        "around": pasted.AROUND,
        "errorName": pasted.NAME,
        "end": pasted.END,
        "traceback": pasted.TRACEBACK,
        "section": SECTION,
        "guesses": queries.GUESSES,
        "nothingFound": queries.NOTHING_FOUND,
        "unknownError": queries.UNKNOWN_ERROR,
        "unknownWords": queries.UNKNOWN_WORDS,
        "noGoodMatch": queries.NO_GOOD_MATCH,
        # in the catalogue's order, because the first that matches counts
        "messages": [
            {
                "place": places[message.id],
                "patterns": [_pattern(text) for text in message.wordings],
            }
            for message in all_messages()
        ],
        "documents": [
            {
                "fields": queries.fields_of(each),
                "weight": queries.weight_of(each),
                **(_section(each) if isinstance(each, Section) else _entry(each)),
            }
            for each in documents
        ],
    }


def _section(section):
    url = page_url(section.address, NOTEBOOKS)
    shown = {"name": name_of(section), "title": section.title, "heading": section.heading}
    return {"href": url, **shown}


def _entry(entry):
    return {
        "href": entry_url(entry.id),
        "texts": list(entry.texts),
        "ofTorch": isinstance(entry, Message),
        "searched": entry.searched,
        "said": explanation(entry),
        "causes": [
            [cause.what, section_name(cause.address), page_url(cause.address, NOTEBOOKS)]
            for cause in entry.causes
        ],
    }


def _pattern(text):
    """What `contains` looks for, as a JavaScript regular expression with the flags i and u."""
    parts = (re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", part.strip()) for part in text.split("…"))
    return ".*".join(parts)
