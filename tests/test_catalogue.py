"""The TOML files of messages and questions: what an entry holds, where it leads, what is wrong."""

import re
from collections import Counter
from functools import cache
from operator import attrgetter

import nbformat
import pytest

from autograd_surprises.facts import toml_data
from autograd_surprises.facts.sections import address
from autograd_surprises.messages.catalogue import all_messages, all_questions, contains
from autograd_surprises.messages.entries import Message
from tools.notebooks import headings, notebook_files
from tools.reading import text_of

ON_A_GPU_ONLY = {"no-double-backward-of-rnn"}  # no example prints it elsewhere
ENTRIES = [*all_messages(), *all_questions()]
SECTIONS = toml_data.read_toml("facts/sections.toml")


# ------------------------------------------------------------ what it holds


def several(things):
    return {thing for thing, count in Counter(things).items() if count > 1}


def test_an_id_is_its_own_and_so_is_its_family():
    ids = [entry.id for entry in ENTRIES]
    assert several(ids) == set()
    assert [id for id in ids if not re.fullmatch("[a-z0-9-]+(/[a-z0-9-]+)?", id)] == []
    assert {*ids} & {id.partition("/")[0] for id in ids if "/" in id} == set()


def test_every_message_has_an_example_and_every_question_a_cause():
    assert {message.id for message in all_messages() if not message.examples} == ON_A_GPU_ONLY
    assert all(question.causes for question in all_questions())


# ------------------------------------------------------------ where it leads


@cache
def passages():
    """[(address, text)] of what stands below each heading, down to the next of any level."""
    found = []
    for path in notebook_files():
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                for _, heading in headings(cell.source):
                    found.append((f"{path.name}#{heading.replace(' ', '-')}", []))
            found[-1][1].extend([cell.source, *map(text_of, cell.get("outputs", []))])
    return [(place, "\n".join(texts)) for place, texts in found]


# Messages that their section explains, but does not show.
NOT_SHOWN = {
    "overlapping-memory": "wrong.changed",
    "no-double-backward-of-rnn": "second.history",
    "no-double-backward": "second.history",
    "nan-found": "nan.distance",
    "reentrant-checkpoint": "checkpoint.frozen",
    "gradient-count/one": "function.inputs",
    "gradient-of-no-tensor": "function.inputs",
    "update-without-step": "half.scaler",
    "unscaled-loss": "half.scaler",
    "scaler-not-updated": "half.unscale",
    "reentrant-or-not": "checkpoint.frozen",
    "compiled-jvp": "card.both-ways",
    "saved-number": "function.saved",
    "hook-without-inputs": "hooks.layer",
    "ddp-twice": "processes.unused",
    "random-under-vmap": "card.vmap",
    "compiled-double-backward": "card.compiled",
    "hook-count": "hooks.layer",
}


def test_the_section_of_a_message_shows_it():
    texts = dict(passages())
    not_shown = {
        message.id: message.section
        for message in all_messages()
        if message.section
        and not any(contains(texts[address(message.section)], said) for said in message.wordings)
    }
    assert not_shown == NOT_SHOWN


def beginnings(text):
    """The beginnings of the words of a text that tell something."""
    common = "the that this with from into its not and for are was were only more than have when"
    words = re.findall(r"[a-z_]{3,}", text.lower())
    return {word[:5] for word in words if word not in (*common.split(), "gradient", "gradients")}


# Sections that a cause names in other words than theirs.
IN_OTHER_WORDS = {
    *("atlas.kinks", "backward.grad", "batches.divisors", "card.compiled", "choices.patches"),
    *(
        "clipping",
        "error.in-place",
        "error.state",
        "error.twice",
        "error.vector-loss",
        "half",
        "half.scaler",
    ),
    *(
        "hooks.in-place",
        "leaf.which",
        "nan.overflow",
        "none.detached",
        "none.frozen",
        "none.no-grad",
        "none.unused",
    ),
    *("policy.group", "second.history", "wrong.accumulated", "zero.clamped"),
}


def test_a_cause_has_words_of_its_section_and_no_fewer_than_of_its_siblings():
    """Links that moved or were swapped by mistake are noticed."""
    texts, found = dict(passages()), set()
    for entry in ENTRIES:
        causes = entry.also if isinstance(entry, Message) else entry.causes
        words = {
            cause.section: beginnings(f"{cause.address} {texts[cause.address]}")
            for cause in causes
            if cause.section
        }
        for cause in filter(attrgetter("section"), causes):
            said = beginnings(f"{cause.what} {cause.helps} {cause.broken}")
            shared = {each: len(said & words[each]) for each in words}
            if shared[cause.section] < max(1, *shared.values()):
                found.add(cause.section)
    assert found == IN_OTHER_WORDS


def test_a_section_is_one_heading_of_its_notebook():
    ids = [section for sections in SECTIONS.values() for section in sections]
    assert several(ids) == set(), "the second one would win"
    assert several(map(address, ids)) == set()
    places = [place for place, _ in passages()]
    assert [id for id in ids if places.count(address(id)) != 1] == []
    with pytest.raises(KeyError, match="none.of-this"):
        address("none.of-this")
