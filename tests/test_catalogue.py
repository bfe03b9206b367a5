"""The TOML files of messages and questions: what each entry has to hold, and how it is refused."""

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from autograd_surprises import toml_data
from autograd_surprises.messages import catalogue
from autograd_surprises.messages.catalogue import MESSAGE_FILES, all_messages, all_questions
from autograd_surprises.messages.entries import Cause, Question
from autograd_surprises.sections import address

ON_A_GPU_ONLY = {"no-double-backward-of-rnn"}  # no example prints it elsewhere
ENTRIES = [*all_messages(), *all_questions()]
each = pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Puts the text of a TOML file in the place of the package's own file."""

    def package(tensors):
        (tmp_path / "messages").mkdir()
        (tmp_path / "messages" / "tensors.toml").write_text(tensors)
        monkeypatch.setattr(toml_data, "__file__", str(tmp_path / "toml_data.py"))

    return package


def strings_in(value):
    """Every string in a field of an entry, except the code of an example, which has more lines."""
    if isinstance(value, str):
        return [value]
    return [string for part in value for string in strings_in(part)]


@each
def test_its_strings_are_single_lines(entry):
    strings = [s for field in fields(entry) for s in strings_in(getattr(entry, field.name))]
    assert [string for string in strings if string != " ".join(string.split())] == []


@each
def test_its_sections_are_in_the_list(entry):
    causes = (
        entry.causes if isinstance(entry, Question) else (*entry.also, Cause("", entry.section))
    )
    for _, section in causes:
        address(section)  # or KeyError


def test_no_two_entries_share_an_id():
    counts = Counter(entry.id for entry in ENTRIES)
    assert [id for id, count in counts.items() if count > 1] == []


def test_an_id_may_have_a_family_which_is_not_an_id():
    ids = {entry.id for entry in ENTRIES}
    assert [id for id in ids if not re.fullmatch("[a-z0-9-]+(/[a-z0-9-]+)?", id)] == []
    assert ids & {id.partition("/")[0] for id in ids if "/" in id} == set()


def test_every_message_has_an_example_and_every_question_a_cause():
    assert {message.id for message in all_messages() if not message.examples} == ON_A_GPU_ONLY
    assert all(question.causes for question in all_questions())


def test_every_file_is_read():
    files = {file.name for file in Path(catalogue.__file__).parent.glob("*.toml")}
    assert files == {*MESSAGE_FILES, "questions.toml"}


@pytest.mark.parametrize(
    "toml, complaint",
    [
        ('meanning = "a"\nfix = "b"', "tensors.toml, mine: the key meanning is none of meaning, "),
        ('id = "a"\nmeaning = "a"\nfix = "b"', "tensors.toml, mine: the key id is none of"),
        ('fix = "b"', "tensors.toml, mine: .*'meaning'"),
        ('meaning = 3\nfix = "b"', "tensors.toml, mine: meaning has to be a string"),
        ("variants = 'a'", "tensors.toml, mine: variants has to be an array of strings"),
        ("variants = ['a', 3]", "tensors.toml, mine: variants has to be an array of strings"),
        ("also = {a = 3}", "tensors.toml, mine: also has to be a table of strings"),
        ("examples = ['a']", "tensors.toml, mine: examples has to be a table of strings"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(package, toml, complaint):
    package(tensors=f"[mine]\n{toml}")
    with pytest.raises(ValueError, match=complaint):
        all_messages.__wrapped__()  # without the cache


def test_an_id_that_stands_twice_is_refused_with_its_file(package):
    package(tensors="[mine]\n[mine]")
    with pytest.raises(ValueError, match=r"messages/tensors.toml: .*mine.* twice"):
        all_messages.__wrapped__()
