"""Calls of backward(), of an optimizer's step() and of clipping, seen from outside."""

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from types import FrameType

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.recording.guest import NO_NUMBERS, Quietly, who_else
from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.setup_lines import noting_builds


class Interception:
    """A context that is told of each backward() and each step() of an optimizer in this thread.

    A child process that is forked inside is not watched. While somebody else records, traces,
    fakes or counts, it is told of each backward that passes by, and of nothing else. No error in
    these methods ends what the user's code does.

    >>> class Count(Interception):
    ...     seen = 0
    ...     def before_backward(self, *what): self.seen += 1
    >>> with Count() as count:
    ...     torch.ones(1, requires_grad=True).sum().backward()
    >>> count.seen
    1
    """

    _busy = False  # a backward runs: what happens inside is its own

    def before_backward(self, roots: Sequence[torch.Tensor], weights, inputs, frame: FrameType):
        """Backward is about to run; `frame` called it."""

    def passed_by(self, why: str):
        """A backward is about to run that must not be looked at."""

    def step_passed_by(self):
        """An optimizer's step() is done that must not be looked at."""

    def elsewhere(self):
        """A backward is about to run in another thread."""

    def troubled(self, error: Exception):
        """One of these methods raised this."""

    def backward_failed(self, error: Exception):
        """It raised an error."""

    def after_backward(self):
        """It is done."""

    def before_optimizer(self, optimizer: Optimizer):
        """An optimizer's step() is about to run, perhaps within a backward."""

    def after_optimizer(self, optimizer: Optimizer):
        """An optimizer's step() is done."""

    def optimizer_built(self, optimizer: Optimizer):
        """An optimizer has been made."""

    def before_clipping(self, parameters: Iterable[torch.Tensor], frame: FrameType):
        """The gradients of these are about to be clipped; `frame` called for it.

        There are none if a generator was given that had been read to its end before.
        """

    def before_clearing(self, owner: Optimizer | torch.nn.Module, frame: FrameType):
        """zero_grad() of this is about to run; `frame` called it."""

    def abandon(self):
        """Stop without a word, in a child process."""
        Interception.__exit__(self)

    def __enter__(self):
        if self in _active:
            raise RuntimeError("this watch() is active already: make another one")
        with ExitStack() as undo:
            undo.enter_context(PATCHES)
            undo.enter_context(noting_builds(self._built))
            undo.callback(register_optimizer_step_pre_hook(self._step_begins).remove)
            undo.callback(register_optimizer_step_post_hook(self._step_done).remove)
            self._thread = threading.get_ident()
            _active.append(self)
            undo.callback(_active.remove, self)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error):
        self._undo.close()  # nothing is left of it in a child process, which has abandoned it

    def _quietly(self, act: Callable, *facts: object) -> None:
        """Call one of these methods: no error of the doctor's own gets into what the user runs."""
        with Quietly(self.troubled):
            act(*facts)

    def _built(self, optimizer):
        if self._thread == threading.get_ident() and not self._busy:
            self._quietly(self.optimizer_built, optimizer)

    def _step_begins(self, optimizer, args, kwargs):
        if torch.compiler.is_compiling():  # it would become a part of what is compiled
            return
        here = self._thread == threading.get_ident()
        if here and not who_else(parameters_of(optimizer)):
            self._quietly(self.before_optimizer, optimizer)

    def _step_done(self, optimizer, args, kwargs):
        if torch.compiler.is_compiling():
            return
        if self._thread != threading.get_ident() or self._busy:
            return
        why = who_else(parameters_of(optimizer))
        if not why:
            self._quietly(self.after_optimizer, optimizer)
        elif why != NO_NUMBERS:
            self.step_passed_by()


_active: list[Interception] = []  # of all threads, the innermost last


def _of_this_thread():
    thread = threading.get_ident()
    return [each for each in _active if each._thread == thread and not each._busy]


def _watched(original, active):
    signature = inspect.signature(original)
    first = next(iter(signature.parameters))

    @functools.wraps(original)
    def backward(*args, **kwargs):
        if torch.compiler.is_compiling():
            return original(*args, **kwargs)
        mine = _of_this_thread() if active.on else []
        if not mine:
            for each in _active if active.on else ():
                if each._thread != threading.get_ident():
                    each.elsewhere()
            return original(*args, **kwargs)
        watching = mine[-1]
        alone = len(args) == 1 and not kwargs  # as nearly always: bind() is slow
        try:
            given = {first: args[0]} if alone else signature.bind(*args, **kwargs).arguments
        except TypeError:  # which torch is to tell
            return original(*args, **kwargs)
        roots = given.get(first, ())
        if isinstance(roots, torch.Tensor):
            roots = (roots,)
        elif isinstance(roots, Iterator):  # it can be read only once
            roots = tuple(roots)
            args, kwargs = ((roots, *args[1:]), kwargs) if args else ((), {**kwargs, first: roots})
        elif not isinstance(roots, (list, tuple)):
            return original(*args, **kwargs)
        if not all(isinstance(root, torch.Tensor) for root in roots):  # no values are known
            return original(*args, **kwargs)
        why = who_else(roots)
        if why:
            if why != NO_NUMBERS:  # which is no step, but a rehearsal
                watching.passed_by(why)
            return original(*args, **kwargs)
        weights = given.get("gradient", given.get("grad_tensors"))
        if isinstance(weights, (list, tuple)) and len(weights) == 1:
            weights = weights[0]
        facts = tuple(roots), weights, given.get("inputs"), sys._getframe(1)
        watching._quietly(watching.before_backward, *facts)
        watching._busy = True
        try:
            result = backward(*args, **kwargs)  # for the others
        except Exception as error:
            watching._quietly(watching.backward_failed, error)
            raise
        finally:
            watching._busy = False
        watching._quietly(watching.after_backward)
        return result

    return backward


def _clipping(original, active):
    @functools.wraps(original)
    def clip(parameters, *args, **kwargs):
        mine = _of_this_thread() if active else []
        if mine:
            is_read = inspect.isgenerator(parameters) and parameters.gi_frame is None
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
            if (parameters or is_read) and not who_else(parameters):
                mine[-1]._quietly(mine[-1].before_clipping, parameters, sys._getframe(1))
        return original(parameters, *args, **kwargs)

    clip.__module__ = torch.nn.utils.__name__  # where pickle finds this one
    return clip


def _clearing(original, active):
    @functools.wraps(original)
    def zero_grad(owner, *args, **kwargs):
        mine = _of_this_thread() if active else []
        if mine:
            mine[-1]._quietly(mine[-1].before_clearing, owner, sys._getframe(1))
        return original(owner, *args, **kwargs)

    return zero_grad


PATCHES = Patches(
    (torch.Tensor, "backward", _watched),
    (torch.autograd, "backward", _watched),
    (torch.nn.utils, "clip_grad_norm_", _clipping),
    (torch.nn.utils, "clip_grad_value_", _clipping),
    (Optimizer, "zero_grad", _clearing),
    (torch.nn.Module, "zero_grad", _clearing),
)


def _leave():
    """In a child process nothing is watched: its steps, if there are any, are others."""
    for watching in list(_active):
        with suppress(Exception):
            watching.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)
