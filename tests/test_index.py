"""The index of messages and questions: what it lists, and in which order."""

import re

from autograd_surprises.messages.catalogue import all_messages, all_questions, index_entries
from autograd_surprises.messages.entries import Message
from lessons.start_here.index_text import GROUPS, whole_index

ENTRIES = index_entries()


def test_every_message_and_every_question_has_an_entry():
    ids = {entry.id for entry in ENTRIES}
    assert len(ids) == len(ENTRIES) == len(all_messages()) + len(all_questions())


def test_the_index_lists_each_text_with_its_sections():
    items = re.split(r"^- ", whole_index(), flags=re.MULTILINE)[1:]
    listed = [entry for entry in ENTRIES if any(cause.section for cause in entry.causes)]
    for entry, item in zip(listed, items, strict=True):
        assert all(text in item for text in entry.texts)
        links = re.findall(r"\]\((.*?)\)", item)
        assert links == [cause.address for cause in entry.causes if cause.section]
    for entry in ENTRIES:
        assert entry.causes or isinstance(entry, Message), "a question without a section is no help"


def test_a_cause_says_what_it_is_unless_it_is_the_only_one():
    for entry in ENTRIES:
        assert all(cause.what for cause in entry.causes[1:]), entry.id
        assert isinstance(entry, Message) or all(cause.what for cause in entry.causes), entry.id


def first_section(entry):
    return next((cause.address for cause in entry.causes if cause.section), "99")


def test_frequent_ones_come_first_and_slips_of_web_pages_last():
    assert [entry.group for entry in ENTRIES] == sorted(entry.group for entry in ENTRIES)
    places = [entry.frequent for entry in ENTRIES if entry.group == 0]
    assert places == list(range(1, len(places) + 1))
    between = [first_section(entry)[:2] for entry in ENTRIES if entry.group == 1]
    assert between == sorted(between)
    assert re.findall(r"^\*\*(.*)\*\*$", whole_index(), re.MULTILINE) == [*GROUPS]
    last = whole_index().rpartition("**")[2]
    assert (
        last.count("\n- ") == sum(entry.group == 2 for entry in ENTRIES)
        and "`No module named 'pytorch'`" in last
    )
