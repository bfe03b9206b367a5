"""A method of torch, replaced for a while."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import ModuleType
from weakref import WeakKeyDictionary

lock = threading.Lock()  # for those who count how often they are active
if hasattr(os, "register_at_fork"):  # the thread that held it is not there in a child process
    os.register_at_fork(after_in_child=lock._at_fork_reinit)

_over: WeakKeyDictionary[Callable, Callable] = WeakKeyDictionary()  # each with what it replaced


def patch(
    owner: type | ModuleType, name: str, around: Callable[[Callable, list], Callable]
) -> Callable[[], None]:
    """Replace a method by around(method, active); what is returned puts it back.

    What somebody else has replaced in the meantime stays: it calls ours, which therefore has to do
    nothing but call the method once `active` is empty.

    >>> class Greeting:
    ...     def words(self): return "hello"
    >>> put_back = patch(Greeting, "words", lambda words, active: lambda self: words(self).upper())
    >>> Greeting().words(), put_back(), Greeting().words()
    ('HELLO', None, 'hello')
    """
    method, active = _replaced(getattr(owner, name)), [True]
    static = isinstance(vars(owner)[name], staticmethod)
    ours = around(method, active)

    def put(function):
        setattr(owner, name, staticmethod(function) if static else function)

    def put_back():
        active.clear()
        _over[ours] = method
        if getattr(owner, name) is ours:
            put(_replaced(ours))

    put(ours)
    return put_back


def _replaced(method):
    """This method, or what it replaced if it is one of ours whose time is over."""
    while method in _over:
        method = _over[method]
    return method
