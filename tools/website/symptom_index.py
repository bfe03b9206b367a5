"""The index of messages and questions as data, so that a page can search it without a kernel."""

import re
from pathlib import Path

from autograd_surprises.messages import index, pasted
from autograd_surprises.messages.catalogue import all_messages
from lessons.index_text import NOTHING_FOUND, SECTION, explanation, section_name

STATIC = Path(__file__).parent / "static"


def symptom_data() -> dict:
    """The data with which static/symptoms.js finds the same entries as find_entries.

    >>> symptom_data()["symptoms"][0]["texts"]
    ['The gradient is `None`: there is no `.grad` after `backward()`']
    """
    entries = index.index_entries()
    places = {entry.id: place for place, entry in enumerate(entries)}
    return {
        "around": pasted.AROUND,
        "name": pasted.NAME,
        "end": pasted.END,
        "traceback": pasted.TRACEBACK,
        "common": sorted(index.COMMON),
        "letters": [index.FEWEST_LETTERS, index.MORE_LETTERS],
        "points": index.POINTS,
        "enough": index.ENOUGH,
        "most": index.MOST,
        "section": SECTION,
        "nothingFound": NOTHING_FOUND,
        "symptoms": [_entry(entry) for entry in entries],
        # in the catalogue's order, because the first that matches counts
        "messages": [
            {
                "place": places[message.id],
                "patterns": [_pattern(text) for text in message.wordings],
            }
            for message in all_messages()
        ],
    }


def _entry(entry):
    return {
        "texts": list(entry.texts),
        "ofTorch": entry.is_message,
        "searched": entry.searched,
        "words": sorted(entry.words),
        "shownWords": sorted(entry.shown_words),
        "said": explanation(entry),
        "causes": [
            [what, section_name(address), address.replace(".ipynb", ".html")]
            for what, address in entry.causes
        ],
    }


def _pattern(text):
    """What `contains` looks for, as a JavaScript regular expression with the flags i and u."""
    parts = (re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", part.strip()) for part in text.split("…"))
    return ".*".join(parts)
