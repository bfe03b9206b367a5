"""A method of torch, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable


def patch(owner: type, name: str, around: Callable[[Callable], Callable]) -> Callable[[], None]:
    """Replace a method by around(method); what is returned puts it back.

    What somebody else has replaced in the meantime stays: it calls ours, which therefore has to do
    nothing but call the method once its time is over.

    >>> class Greeting:
    ...     def words(self): return "hello"
    >>> put_back = patch(Greeting, "words", lambda words: lambda self: words(self).upper())
    >>> Greeting().words(), put_back(), Greeting().words()
    ('HELLO', None, 'hello')
    """
    original = getattr(owner, name)
    ours = around(original)
    setattr(owner, name, ours)

    def put_back():
        if getattr(owner, name) is ours:
            setattr(owner, name, original)

    return put_back
