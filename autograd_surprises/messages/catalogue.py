"""All messages and questions, read from the TOML files, their index, and the search for one."""

import re
from functools import cache
from itertools import starmap
from typing import TypeVar

from autograd_surprises.facts.toml_data import read_toml
from autograd_surprises.messages.entries import Cause, Message, Question

# The first message that matches counts, so the order of the files is part of the meaning.
MESSAGE_FILES = (
    "tensors.toml",
    "gradients.toml",
    "custom_functions.toml",
    "custom_operators.toml",
    "modules.toml",
    "training_steps.toml",
    "under_transforms.toml",
)
Entry = TypeVar("Entry", Message, Question)


@cache
def all_messages() -> tuple[Message, ...]:
    """The messages in the order in which they are tried."""
    return tuple(entry for file in MESSAGE_FILES for entry in _entries(Message, file))


@cache
def all_questions() -> tuple[Question, ...]:
    """The questions in the order of their file.

    >>> all_questions()[0].asked
    'The gradient is `None`: there is no `.grad` after `backward()`'
    """
    return tuple(_entries(Question, "questions.toml"))


@cache
def index_entries() -> tuple[Message | Question, ...]:
    """The frequent ones first, those of web pages last, the others by notebook.

    >>> index_entries()[0].id
    'grad-is-none'
    """
    return tuple(sorted([*all_questions(), *all_messages()], key=_place))


def _place(entry):
    first = next((cause.address for cause in entry.causes if cause.section), "99")
    return entry.group, entry.frequent, first[:2]


def known_message(text: str, having: str = "") -> Message | None:
    """The first message of which a wording is a part of the text, or None.

    having  what that wording has to contain

    >>> known_message("No module named 'pytorch'").fix
    'import torch'
    """
    return next(
        (
            message
            for message in all_messages()
            for wording in message.wordings
            if having in wording and contains(text, wording)
        ),
        None,
    )


def contains(text: str, wording: str) -> bool:
    """Is the wording a part of the text? … stands for anything within a line.

    >>> contains("derivative for aten::floor_divide is not implemented", "derivative for … is not")
    True
    """
    parts = (re.escape(part.strip()) for part in wording.split("…"))
    return re.search(".*".join(parts), text, re.IGNORECASE) is not None


def remedy_for(text: str) -> str:
    """What to change in a torch.autograd.Function that gets this message, or "".

    >>> remedy_for("no signature found for builtin")
    'write forward as a Python function: torch cannot read the signature of this builtin'
    """
    message = known_message(text)
    return (message.in_function or message.fix) if message else ""


def _entries(kind: type[Entry], file: str) -> list[Entry]:
    tables = read_toml(f"messages/{file}")
    return [_entry(kind, id, table, f"{file}, {id}") for id, table in tables.items()]


def _entry(kind, id, table, where):
    key = "also" if kind is Message else "causes"
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
    named = starmap(Cause, table.get(key, {}).items())
    try:
        told = [Cause(what, **cause) for what, cause in _told().get(id, {}).items()]
        return kind(id, **values | {key: (*told, *named)})
    except TypeError as error:  # a key is missing, or is none
        raise ValueError(f"{where}: {error}") from None


@cache
def _told():
    return read_toml("messages/causes.toml")
