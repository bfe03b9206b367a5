"""A method of torch, replaced for a while."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

lock = threading.Lock()  # for those who count how often they are active
if hasattr(os, "register_at_fork"):  # the thread that held it is not there in a child process
    os.register_at_fork(after_in_child=lock._at_fork_reinit)


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
