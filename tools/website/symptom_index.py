"""The index of symptoms as data, so that a page can search it without a kernel."""

import re
from pathlib import Path

from autograd_surprises.messages import MESSAGES, pasted
from lessons import symptoms
from lessons.symptom_index import OF_MESSAGES, SYMPTOMS
from lessons.symptom_text import NOTHING_FOUND, SECTION, said_of, section_name

STATIC = Path(__file__).parent / "static"


def symptom_data() -> dict:
    """The data with which static/symptoms.js finds the same symptoms as find_symptoms.

    >>> symptom_data()["symptoms"][0]["texts"]
    ['The gradient is `None`: there is no `.grad` after `backward()`']
    """
    places = {id(symptom): place for place, symptom in enumerate(SYMPTOMS)}
    return {
        "around": pasted.AROUND,
        "name": pasted.NAME,
        "end": pasted.END,
        "traceback": pasted.TRACEBACK,
        "common": sorted(symptoms.COMMON),
        "letters": [symptoms.FEWEST_LETTERS, symptoms.MORE_LETTERS],
        "points": symptoms.POINTS,
        "enough": symptoms.ENOUGH,
        "most": symptoms.MOST,
        "section": SECTION,
        "nothingFound": NOTHING_FOUND,
        "symptoms": [_entry(symptom) for symptom in SYMPTOMS],
        # in the catalogue's order, because the first that matches counts
        "messages": [
            {
                "place": places[id(OF_MESSAGES[id(message)])],
                "patterns": [_pattern(text) for text in (*message.examples, *message.variants)],
            }
            for message in MESSAGES
        ],
    }


def _entry(symptom):
    return {
        "texts": list(symptom.texts),
        "ofTorch": symptom.of_torch,
        "searched": symptom.searched,
        "words": sorted(symptom.words),
        "shownWords": sorted(symptom.shown_words),
        "said": said_of(symptom),
        "causes": [
            [what, section_name(section), section.replace(".ipynb", ".html")]
            for what, section in symptom.causes
        ],
    }


def _pattern(text):
    """What `contains` looks for, as a JavaScript regular expression with the flags i and u."""
    parts = (re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", part.strip()) for part in text.split("…"))
    return ".*".join(parts)
