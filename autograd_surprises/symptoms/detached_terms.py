"""Terms of the loss that were meant for parameters from which they are cut off."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.graph import leaf_of, reachable
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import Where
from autograd_surprises.symptoms.constant_terms import MAYBE_MEANT, sums_and_terms
from autograd_surprises.symptoms.detached import detached
from autograd_surprises.symptoms.rule import Rule


class DetachedTerm(NamedTuple):
    """A term of a loss.

    reached  ids of the leaves that get a gradient from it
    missed   ids of other leaves of the loss: they went into the term, and were cut off
    cut      how

    >>> UNUSED_TERM.finding(reached="critic.weight", steps=5, cut="").cause
    'unused-term'
    """

    reached: frozenset[int]
    missed: frozenset[int]
    cut: str
    places: tuple[tuple[str, Where], ...]


UNUSED_TERM = Rule(
    "unused-term",
    "a term that is added to the loss reaches only {reached}, and in {steps} steps no optimizer "
    "used these gradients: the term trains nothing. What it was computed from was cut off: {cut}",
    "remove what cuts it off from this term; it belongs only in the loss of the other optimizer",
)


def detached_terms(
    backward: Backward, history: History, leaves: Sequence[torch.Tensor]
) -> Iterator[DetachedTerm]:
    """Terms with a history, from which what others of these leaves made was cut off."""
    states = {id(leaf): set(history.recorder.states(leaf)) for leaf in leaves}
    _, terms = sums_and_terms(backward)
    for step in terms if len(terms) > 1 else ():
        call = history.call_of(step.node)
        found = {id(leaf_of(node)) for node in reachable([step.node])}
        reached = frozenset(found & states.keys())
        behind = history.values_behind(call.outputs, updates=False) if call else set()
        for earlier in history.calls if reached else ():
            for state in behind.intersection(earlier.lost):
                cut = detached(earlier, state)
                source = history.values_behind(earlier.inputs, updates=False)
                missed = frozenset(key for key, own in states.items() if source & own) - reached
                if missed and cut.rule.cause in MAYBE_MEANT:
                    places = (("cut off at", cut.where), ("the term was made at", call.where))
                    why = cut.rule.finding(cut.lost).sentence
                    yield DetachedTerm(reached, missed, why, places)
