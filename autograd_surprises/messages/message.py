"""One message of torch: what it means, what helps, and how to reproduce it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

PRELUDE = """
import torch
from torch import nn
from torch.autograd import Function

x = torch.tensor([1.0, 2.0], requires_grad=True)
"""


class Cause(NamedTuple):
    """What may cause a symptom, and the id of the section that shows it."""

    what: str
    section: str


@dataclass(frozen=True)
class Message:
    """An error or a warning.

    cause        a slug such as "leaf-in-place"
    examples     {part of torch's text: a few lines that make torch print it}. A text may stand
                 inside a longer message, … stands for what differs, and case does not matter.
                 The lines run after PRELUDE, and a test runs them
    meaning      what happened
    fix          what helps
    in_function  what to change in a torch.autograd.Function, where that is more specific
    section      the id of the section that teaches it, or ""
    also         other causes of the same message, each with its section
    variants     other wordings of the same, for other versions of torch or other cases

    >>> warning = Message("old-name", {"`…` is deprecated": ""}, "it has a new name", "use that")
    >>> warning.matches("FutureWarning: `nn.init.uniform` is deprecated.")
    True
    """

    cause: str
    examples: Mapping[str, str]
    meaning: str
    fix: str
    in_function: str = ""
    section: str = ""
    also: tuple[Cause, ...] = ()
    variants: tuple[str, ...] = ()

    def matches(self, said: str) -> bool:
        """Does torch's text contain one of the texts?"""
        return any(contains(said, text) for text in (*self.examples, *self.variants))


def contains(said: str, text: str) -> bool:
    """Is `text` a part of what torch said? … stands for anything within a line.

    >>> contains("derivative for aten::floor_divide is not implemented", "derivative for … is not")
    True
    """
    parts = (re.escape(part.strip()) for part in text.split("…"))
    return re.search(".*".join(parts), said, re.IGNORECASE) is not None
