"""Where what was computed from a tensor went, and where it lost its history on the way."""

from collections.abc import Iterable
from typing import NamedTuple

import torch

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import CodeLine, Where
from autograd_surprises.symptoms.detached import UNAVOIDABLE, Detached, detached

MOST, KEPT = 3, 12  # places of each kind that are shown, and kept on the way
CAUSES_OF_COPIES = {"deepcopy", "detach", "data", "escape"}  # loops over all parameters have them


class WhereItWent(NamedTuple):
    """Where what was computed from a state went.

    detached    results without history on the way to the loss
    left_torch  where numbers left torch and did not come back with a history
    end         the index of the last call that it reached, or -1
    """

    detached: tuple[Detached, ...] = ()
    left_torch: tuple[Detached, ...] = ()
    end: int = -1


class Destinations:
    """Where each tensor of a recording went, seen from one loss.

    >>> from autograd_surprises.recording.recorder import Recorder
    >>> x = torch.ones(2, requires_grad=True)
    >>> with Recorder() as recorder:
    ...     loss = (x.detach() * 2).sum()
    >>> [each.rule.cause for each in Destinations(History(recorder), loss, None).of(x).detached]
    ['detach']
    """

    def __init__(self, history: History, loss: torch.Tensor, backward: Backward | None):
        self._states = history.recorder.states
        self._history = history
        self._went = _of_all_states(history, history.behind(loss, backward))
        self._incidental: dict[CodeLine, set[int]] = {}  # what happens to leaves with a gradient
        for leaf in backward.leaves if backward is not None else ():
            went = self._of_states(self._states(leaf))
            for each in (*went.detached, *went.left_torch):
                if _is_incidental(each):
                    self._incidental.setdefault(each.call.line, set()).add(each.call.index)

    def of(self, tensor: torch.Tensor) -> WhereItWent:
        """Where what was computed from this tensor went."""
        states = self._states(tensor)
        went = self._of_states(states)
        return WhereItWent(
            self._latest(states, self._intended(went.detached, joint=True) or went.detached),
            self._latest(states, self._intended(went.left_torch)),
            went.end,
        )

    def _of_states(self, states):
        return _joined([self._went.get(state, WhereItWent()) for state in states], without=states)

    def _intended(self, several, joint=False):
        """Without the lines that do the same to tensors that have a gradient: log, copy, update.

        joint  keep a copy of what was computed from both, as in x + (z - x).detach()
        """

        def is_intended(each):
            others = self._incidental.get(each.call.line)
            if others is None or not _is_incidental(each):
                return True
            copied = not each.call.in_place and each.rule.cause in CAUSES_OF_COPIES
            return joint and copied and each.call.index in others

        return tuple(filter(is_intended, several))

    def _latest(self, states, several):
        """Those of this training step; if some follow the last write into the tensor, only these.

        What an initialisation or an average did to numbers that are overwritten is over.
        """
        start, written = self._history.trained_until(states), self._history.written_until(states)
        several = [each for each in several if each.call.index > start]
        later = [each for each in several if each.call.index > written]
        return tuple((later or several)[:MOST])


def _is_incidental(each):
    """Does code that goes through all parameters do this: copies, updates, logs?"""
    return each.call.in_place or not each.lost.recording or each.rule.cause in CAUSES_OF_COPIES


def _of_all_states(history, behind):
    """One walk from the last call back to the first: many tensors cost no more than one."""
    went: dict[int, WhereItWent] = {}
    for call in reversed(history.calls):
        if call.updates_many:
            continue
        after = []
        for state in call.outputs:
            here, onward = detached(call, state), went.get(state, WhereItWent())
            if here is None:
                after.append(onward)
            elif here.lost.decides or (here.lost.leaves_torch and state not in behind):
                after.append(WhereItWent(left_torch=(here,)))
            else:
                left = tuple(each if each.lost.decides else here for each in onward.left_torch)
                after.append(WhereItWent((here,) if state in behind else (), left))
            after.append(WhereItWent(end=max(onward.end, call.index)))
        joined = _joined(after)
        for state in call.inputs:
            if state in went and state not in call.outputs:
                went[state] = _joined([went[state], joined])
            else:
                went[state] = joined
    return went


def _joined(several, without=()):
    """One made of several; what is unavoidable, and mere decisions, are blamed last."""

    def first_of(found):
        found = [each for each in found if each.state not in without]
        found.sort(key=lambda each: each.call.index, reverse=True)
        once = {(each.call.line, each.rule.id): each for each in found}  # a loop repeats its lines
        return tuple(sorted(once.values(), key=lambda each: (last(each), each.call.index))[:KEPT])

    def last(each):
        return each.lost.decides, each.rule.cause in UNAVOIDABLE

    return WhereItWent(
        first_of(each for went in several for each in went.detached),
        first_of(each for went in several for each in went.left_torch),
        max((went.end for went in several), default=-1),
    )


def lost_behind(history: History, states: Iterable[int]) -> list[tuple[str, Where]]:
    """Where history was lost on the way to these states, at most three places.

    Without any states: anywhere. What was written in place and not recorded, as by an
    initialisation or an optimizer, counts only if nothing else does.
    """
    for updates in (False, True):
        behind = history.values_behind(states, updates) if states else None
        found = [
            ("history lost at", detached(call, state).where)
            for call in history.calls
            if updates or not call.is_unrecorded_write
            for state, lost in call.lost.items()
            if not lost.decides and (behind is None or state in behind)
        ]
        if found:
            break
    if not found and states:  # then numbers may have left torch, and come back in another tensor
        left = [call for call in history.calls if any(e.leaves_torch for e in call.lost.values())]
        found = [("numbers left torch, maybe on the way, at", call.where) for call in left]
    return list(dict.fromkeys(found))[:MOST]
