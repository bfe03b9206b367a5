"""Methods of torch, replaced for a while: the one way to do so."""

import os
import threading
from collections.abc import Callable
from types import ModuleType
from weakref import WeakKeyDictionary

from autograd_surprises.recording.guest import Active

_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # the thread that held it is not there in a child process
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)

_over: WeakKeyDictionary[Callable, Callable] = WeakKeyDictionary()  # each with what it replaced
Replacement = tuple[type | ModuleType, str, Callable[[Callable, Active], Callable]]


class Patches:
    """A context in which methods are replaced. It may be entered several times, in any thread.

    Each replacement is (owner, name, around): the method becomes around(method, active). What
    somebody else has put there in the meantime stays: it calls ours, which therefore has to do
    nothing but call the method while `active` is false. Entering tells whether this replaced them.

    >>> class Greeting:
    ...     def words(self): return "hello"
    >>> with Patches((Greeting, "words", lambda words, active: lambda self: words(self).upper())):
    ...     Greeting().words()
    'HELLO'
    >>> Greeting().words()
    'hello'
    """

    def __init__(self, *replacements: Replacement):
        self.replacements = replacements
        self._undo: list[Callable[[], None]] = []
        self._users = 0

    def __enter__(self) -> bool:
        with _lock:
            first = not self._users
            if first:
                self._undo = [_replace(*replacement) for replacement in self.replacements]
            self._users += 1
            return first

    def __exit__(self, *error: object) -> None:
        with _lock:
            self._users -= 1
            while not self._users and self._undo:
                self._undo.pop()()


def _replace(owner, name, around):
    method, active = _replaced(getattr(owner, name)), Active()
    inherited = name not in vars(owner)
    static = isinstance(vars(owner).get(name), staticmethod)
    ours = around(method, active)

    def put(function):
        setattr(owner, name, staticmethod(function) if static else function)

    def put_back():
        active.on = False
        _over[ours] = method
        if getattr(owner, name) is not ours:
            return
        if inherited:
            delattr(owner, name)
        else:
            put(_replaced(ours))

    put(ours)
    return put_back


def _replaced(method):
    """This method, or what it replaced if it is one of ours whose time is over."""
    while method in _over:
        method = _over[method]
    return method
