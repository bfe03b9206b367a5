"""The search, measured: how often the first hit is right, and how often an answer is near.

Half of the queries were held back while the ranking was tuned, by a fixed rule.
"""

import hashlib
from pathlib import Path

import pytest

from autograd_surprises.facts.sections import address
from autograd_surprises.facts.toml_data import read_toml, tomllib
from autograd_surprises.messages.entries import Section
from autograd_surprises.messages.queries import find

TEXT = Path(__file__).with_name("queries.toml").read_text(encoding="utf-8")
QUERIES = {query: ids.split() for query, (_, ids) in tomllib.loads(TEXT).items()}
SEEN = 3  # of what is found, a reader looks at so many
NOTHING = ["nothing"]
SECTIONS = {id for sections in read_toml("facts/sections.toml").values() for id in sections}


def is_held_back(query):
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 1


def leads_to(found):
    """Where the first click lands, or the second."""
    if isinstance(found, Section):
        return {found.address}
    return {cause.address for cause in found.causes}


def measured(held_back):
    """How many first hits are right, and answers near; needless guesses, and nonsense."""
    right = {"first": 0, "near": 0, "guessed": 0, "nonsense": 0, "asked": 0}
    for query, ids in QUERIES.items():
        if is_held_back(query) != held_back:
            continue
        answer = find(query)
        if ids == NOTHING:
            right["nonsense"] += bool(answer.found) and not answer.is_guess
            continue
        wanted = {address(section) for section in ids}
        led = [bool(leads_to(each) & wanted) for each in answer.found[:SEEN]]
        right["first"] += led[:1] == [True]
        right["near"] += any(led)
        right["guessed"] += answer.is_guess
        right["asked"] += 1
    return right


# Of 59 queries to work with, and 61 held back: before the ranking was tuned, the first hit was
# right for 42 and 36, an answer near for 50 and 51. With BM25: 46 and 56 of those held back. Before
# something in the text told a cause: 50 and 46, an answer near for 56 and 57.
@pytest.mark.parametrize(
    ("held_back", "first", "near", "nonsense"), [(False, 55, 57, 0), (True, 49, 58, 3)]
)
def test_the_first_hit_is_right_and_an_answer_is_near(held_back, first, near, nonsense):
    right = measured(held_back)
    assert right["asked"] == (61 if held_back else 59)
    assert right["first"] >= first and right["near"] >= near
    assert right["nonsense"] <= nonsense and right["guessed"] <= 5


ASKED = tomllib.loads(Path(__file__).with_name("asked.toml").read_text("utf-8"))["asked"]


def is_right(entry, ids):
    """Is it one of these entries, or a section of these ids?"""
    if isinstance(entry, Section):
        return entry.address in {address(id) for id in ids.split() if id in SECTIONS}
    return entry.id in ids.split()


# Before these questions were written: 13 of 20 first hits were right, and 16 of those held back.
@pytest.mark.parametrize(("held", "right", "wrong"), [(False, 19, 1), (True, 17, 3)])
def test_the_first_answer_to_forty_questions_is_right(held, right, wrong):
    asked = [each for each in ASKED if each.get("held", False) == held]
    answers = [(find(each["text"]), each["ids"]) for each in asked]
    assert len(answers) == 20
    firsts = [(is_right(answer.found[0], ids), answer.is_guess) for answer, ids in answers]
    assert sum(is_one for is_one, _ in firsts) >= right
    assert sum(not is_one and not guess for is_one, guess in firsts) <= wrong, "without a warning"
    assert all(len(a.entries) <= SEEN for a, _ in answers)
