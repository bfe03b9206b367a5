"""How a check ends, if its answer is not that it works."""

from __future__ import annotations


class SilentlyWrong(Exception):
    """A number is wrong without an error: where, yours and expected, and what to change."""

    def __init__(self, where: str, yours: str, expected: str, remedy: str = ""):
        super().__init__(where)
        self.where, self.yours, self.expected, self.remedy = where, yours, expected, remedy


class NotApplicable(Exception):
    """The question makes no sense for this function; the message says why."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind.

    >>> first_line(ValueError("one\\ntwo"))
    'one'
    """
    return str(error).strip().partition("\n")[0] or type(error).__name__
