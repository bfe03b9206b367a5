"""Terms of the loss that were cut off from what they were computed from.

A term without any history changes the value of the loss, and trains nothing. One with a history may
miss parameters that it was meant for.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.graph import leaf_of, reachable
from autograd_surprises.facts.operations import ARITHMETIC, traits_of
from autograd_surprises.recording.forward_calls import LEAVES_TORCH
from autograd_surprises.recording.history import History
from autograd_surprises.symptoms.detached import Detached, detached
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.rule import Rule

BY_ACCIDENT = {
    "copy",
    "integer",
    "no-create-graph",
    "no-derivative",
    "escape",
}  # a term of the loss is never meant so
MAYBE_MEANT = {"detach", "data", "no-grad"}


CONSTANT_TERM = Rule(
    "constant-term/certain",
    "a term that is added to the loss has no history: it changes the value and trains nothing. "
    "{sentence}",
    "{fix}",
)

MAYBE_CONSTANT_TERM = Rule(
    "constant-term/maybe",
    "a term that is added to the loss has no history, maybe by mistake: it changes the value and "
    "trains nothing. {sentence}",
    "{fix}; if that is intended, add the term to what you log, not to the loss",
)


def constant_terms(exam: Examination) -> list[Finding]:
    """Terms that were computed from tensors with a history, which was cut on the way.

    >>> from autograd_surprises.doctor import trace
    >>> scores = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with trace() as t:
    ...     loss = scores.exp().sum() + (scores > 1).sum()
    >>> t.explain(loss, {"scores": scores})["loss"].cause
    'integer'
    """
    found = []
    sums, _ = _sums_and_terms(exam.backward) if exam.backward is not None else ((), ())
    for step in sums:
        call = exam.history.call_of(step.node)
        if call is None or call.function or all(node is not None for node, _ in step.edges):
            continue
        number = _number_added(exam.history, call)
        if number is not None and not set(number.inputs).isdisjoint(call.inputs):
            return []  # soft - soft.item(): the value is replaced on purpose
        for state in (*call.inputs, *(number.outputs if number is not None else ())):
            if _is_detached(exam.history, state):
                return []  # the same, with hard + soft - soft.detach()
            term = _term(exam.history, state)
            if term is not None:
                found.append(_finding(term, call))
    return found


def _finding(term, added):
    places = (("cut at", term.where), ("added at", added.where))
    lost = term.rule.finding(term.lost)
    rule = MAYBE_CONSTANT_TERM if term.rule.cause in MAYBE_MEANT else CONSTANT_TERM
    found = rule.finding(sentence=lost.sentence, fix=lost.fix)
    return replace(found, cause=lost.cause, section=lost.section).about("loss", "wrong", places)


def _sums_and_terms(backward):
    """The steps that add single numbers to make the loss, and the steps that made these numbers."""
    sums, terms, waiting = [], [], [backward.root]
    while waiting:
        step = waiting.pop()
        traits = traits_of(step.kind)
        passes = traits.only_adds or traits.scales or traits.arranges
        if not (passes and all(a and a.total == 1 for a in step.arriving)):
            terms.append(step)
            continue
        if traits.only_adds:
            sums.append(step)
        waiting += [backward.steps[node] for node, _ in step.edges if node is not None]
    return sums, terms


def _number_added(history, call):
    """The call that took a number out of torch, if what is added here is a short multiple of it.

    As 0.1 * value.item() is. That the same digits come from elsewhere is as good as impossible.
    """
    for earlier in history.calls[: call.index] if call.number else ():
        value = earlier.number if earlier.name in LEAVES_TORCH else 0.0
        if value and not _is_short(value) and _is_short(call.number / value):
            return earlier
    return None


def _is_short(number):
    """Has it at most three digits, but for rounding?"""
    return math.isclose(number, float(f"{number:.3g}"), rel_tol=1e-12)


def _is_detached(history, state):
    """Was this very term detached, and nothing computed from it?"""
    call = history.makers.get(state)
    found = call and detached(call, state)
    return found is not None and found.rule.cause in MAYBE_MEANT


def _term(history: History, state: int) -> Detached | None:
    """The term with this state, if it was computed from what was cut.

    A term that was detached as a whole, or after mere arithmetic, is meant: it corrects the value.
    """
    waiting, seen, terms, computed = [state], set(), [], False
    while waiting:
        state = waiting.pop()
        call = history.makers.get(state)
        if call is None or state in seen:
            continue
        seen.add(state)
        if state in call.lost:
            terms.append(detached(call, state))
        elif call.makes_history:
            return None
        else:
            waiting += call.inputs
        computed = computed or (state not in call.lost and call.operation not in ARITHMETIC)
    causes = {term.rule.cause for term in terms}
    if not terms or not causes <= (BY_ACCIDENT | MAYBE_MEANT if computed else BY_ACCIDENT):
        return None
    return min(terms, key=lambda term: term.call.index)


UNUSED_TERM = Rule(
    "unused-term",
    "a term that is added to the loss reaches only {reached}, and in {steps} steps no optimizer "
    "used these gradients: the term trains nothing. What it was computed from was cut off: {cut}",
    "remove what cuts it off from this term; it belongs only in the loss of the other optimizer",
)


def detached_terms(
    backward: Backward, history: History, leaves: Sequence[torch.Tensor]
) -> Iterator[tuple]:
    """Terms with a history, from which what others of these leaves made was cut off.

    Of each: the ids of the leaves that get a gradient from it, those of the others, how these were
    cut off, and where.
    """
    states = {id(leaf): set(history.recorder.states(leaf)) for leaf in leaves}
    _, terms = _sums_and_terms(backward)
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
                    yield reached, missed, why, places
