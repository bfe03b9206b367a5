"""The index of error messages, for a page that searches it without a kernel."""

import re

from autograd_surprises.messages import MESSAGES, in_order_of_notebooks, pasted
from helpers.lessons.symptoms import FIX, MEANING, NOTHING_FOUND, SECTION, section_name


def symptom_data() -> dict:
    """What static/symptoms.js needs to find the messages that find_messages finds.

    >>> symptom_data()["messages"][0]["texts"]
    ["No module named 'pytorch'"]
    """
    order = in_order_of_notebooks(MESSAGES)
    return {
        "added": pasted.ADDED,
        "name": pasted.NAME,
        "end": pasted.END,
        "frame": pasted.FRAME,
        "labels": [MEANING, FIX, SECTION],
        "nothingFound": NOTHING_FOUND,
        "messages": [
            {
                "cause": message.cause,
                "texts": list(message.examples),
                "variants": message.variants,
                "patterns": [_pattern(text) for text in (*message.examples, *message.variants)],
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
    """What `contains` looks for, as JavaScript with the flags i and u writes it."""
    parts = (re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", part.strip()) for part in text.split("…"))
    return ".*".join(parts)
