"""The index of messages and questions: what it lists, in which order, and what its search finds."""

import re

from pasted_texts import TYPED, UNKNOWN, pasted

from autograd_surprises.messages.catalogue import all_messages, all_questions
from autograd_surprises.messages.index import (
    FREQUENT,
    OF_WEB_PAGES,
    find_entries,
    index_entries,
    words_in,
)
from lessons.index_text import GROUPS, plain_index, whole_index

ENTRIES = index_entries()


def found_ids(text):
    return [entry.id for entry in find_entries(text)]


def test_every_message_and_every_question_has_an_entry():
    ids = {entry.id for entry in ENTRIES}
    assert len(ids) == len(ENTRIES) == len(all_messages()) + len(all_questions())
    assert {*FREQUENT, *OF_WEB_PAGES} <= ids


def test_the_index_lists_each_text_with_its_sections():
    plain = plain_index().splitlines()
    items = re.split(r"^- ", whole_index(), flags=re.MULTILINE)[1:]
    listed = [entry for entry in ENTRIES if entry.causes]
    for entry, item in zip(listed, items, strict=True):
        assert all(text in item and plain.count(text) == 1 for text in entry.texts)
        links = re.findall(r"\]\((.*?)\)", item)
        assert links == [address for _, address in entry.causes]
    for entry in ENTRIES:
        assert entry.causes or entry.is_message, "a question without a section is no help"


def test_a_cause_says_what_it_is_unless_it_is_the_only_one():
    for entry in ENTRIES:
        assert all(what for what, _ in entry.causes[1:]), entry.id
        assert entry.is_message or all(what for what, _ in entry.causes), entry.id


def test_frequent_ones_come_first_and_slips_of_web_pages_last():
    assert [entry.group for entry in ENTRIES] == sorted(entry.group for entry in ENTRIES)
    assert [entry.id for entry in ENTRIES if entry.group == 0] == list(FREQUENT)
    between = [e.causes[0].address[:2] for e in ENTRIES if e.group == 1 and e.causes]
    assert between == sorted(between)
    assert re.findall(r"^\*\*(.*)\*\*$", whole_index(), re.MULTILINE) == [*GROUPS]
    last = whole_index().rpartition("**")[2]
    assert last.count("\n- ") == len(OF_WEB_PAGES) and "`No module named 'pytorch'`" in last


FOUND_FIRST = {
    "Why is my gradient None?": "grad-is-none",
    "gradients are zero": "gradient-is-zero",
    "why do I get NaN in the gradient": "gradient-is-nan",
    "how can I print the gradient of a hidden layer": "inner-gradient",
    "what does retain_graph do": "retain-graph",
    "zero_grad": "gradient-grows",
    "my Function in torch.compile": "function-under-transforms",
    "x.cuda() has no gradient": "moved-tensor",
    "in-place operation": "leaf-in-place",
    "GRADIENTS incorrect": "gradient-count/one",
    "my loss does not go down": "which-line",
    "the loss stays the same": "gradient-is-zero",
    "parameters not updating": "weight-never-moves",
    "difference between Parameter and Variable": "kinds-of-tensors",
    "RuntimeError: element 0 of t": "not-connected",  # being typed
    "KeyError: 'lr'\n\nRuntimeError: element 0 of t": "not-connected",
}


def test_a_question_is_found_by_its_words():
    assert {text: found_ids(text)[0] for text in FOUND_FIRST} == FOUND_FIRST


def test_an_entry_is_found_by_the_headings_of_its_sections():
    rare = {
        (word, entry.id)
        for entry in ENTRIES
        for _, address in entry.causes
        for word in words_in(address.partition("#")[2])
        if word not in entry.searched
        and not any(word in what.lower() for what, _ in entry.causes)
        and sum(word in f"{other.searched} {other.causes}".lower() for other in ENTRIES) == 1
    }
    assert len(rare) > 10
    assert [(word, id) for word, id in sorted(rare) if id not in found_ids(word)] == []


def test_a_name_counts_as_a_whole_and_by_its_parts():
    assert words_in("Call zero_grad() on x!") == {"call", "zero_grad", "zero", "grad"}
    assert found_ids("retain_graph") != found_ids("graph")


def test_a_part_of_several_messages_finds_them_all():
    assert set(found_ids("does not require grad")) >= {"not-connected", "not-differentiable-input"}
    counts = found_ids("returned an incorrect number of gradients")
    assert counts == ["gradient-count/one", "gradient-count/several"]
    for text in ("does not require grad", "an in-place operation"):
        assert all(text in entry.searched for entry in find_entries(text))


def test_nothing_is_found_where_nothing_is_known():
    assert [how for how, text in UNKNOWN.items() if find_entries(text)] == []


def test_not_more_than_five_are_found_by_words():
    for text in TYPED:
        found = find_entries(text)
        assert len(found) <= 5 or all(text.lower() in each.searched for each in found), text


def test_a_pasted_message_finds_its_entry_alone():
    said = "Jacobian mismatch for output 0 with respect to input 1,"
    for how, text in pasted(RuntimeError(said)).items():
        assert found_ids(text) == ["gradcheck-mismatch"], how
