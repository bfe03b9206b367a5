"""The index of error messages as data, so that a page can search it without a kernel."""

import re
from pathlib import Path

from autograd_surprises.messages import MESSAGES, in_order_of_notebooks, pasted
from helpers.lessons.symptoms import FIX, MEANING, NOTHING_FOUND, SECTION, section_name

STATIC = Path(__file__).parent / "static"


def symptom_data() -> dict:
    """The data with which static/symptoms.js finds the same messages as find_messages.

    >>> symptom_data()["messages"][0]["fix"]
    'import torch'
    """
    order = in_order_of_notebooks(MESSAGES)
    return {
        "around": pasted.AROUND,
        "name": pasted.NAME,
        "end": pasted.END,
        "traceback": pasted.TRACEBACK,
        "labels": [MEANING, FIX, SECTION],
        "nothingFound": NOTHING_FOUND,
        "messages": [
            {
                "texts": list(message.examples),
                "patterns": [_pattern(text) for text in (*message.examples, *message.variants)],
                "inTexts": pasted.texts_of(message),
                "inWords": pasted.words_of(message),
                "meaning": message.meaning,
                "fix": message.fix,
                "section": section_name(message.section),
                "href": message.section.replace(".ipynb", ".html"),
                "place": order.index(message),
            }
            for message in MESSAGES
        ],
    }


def _pattern(text):
    """What `contains` looks for, as a JavaScript regular expression with the flags i and u."""
    parts = (re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", part.strip()) for part in text.split("…"))
    return ".*".join(parts)
