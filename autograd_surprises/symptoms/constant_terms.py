"""Terms of the loss that have no history: they change its value, and train nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.recording.history import History
from autograd_surprises.symptoms.detached import Detached, detached
from autograd_surprises.symptoms.examination import Case
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.wrong import CONSTANT_TERM, MAYBE_CONSTANT_TERM, ConstantTerm

SUMS = {"Add", "Sub"}
SCALES = {"Mul", "Div", "Neg", "Alias", "Clone", "View", "Squeeze"}
BY_ACCIDENT = {"copy", "integer", "no-derivative", "escape"}  # a term of the loss is never meant so
MAYBE_MEANT = {"detach", "data", "no-grad"}
ARITHMETIC = {"add", "radd", "iadd", "sub", "rsub", "mul", "rmul", "div", "truediv", "neg", "sum",
              "mean", "float", "to", "squeeze"}  # fmt: skip


def constant_terms(case: Case) -> list[Finding]:
    """Terms that were computed from tensors with a history, which was cut on the way.

    >>> from autograd_surprises.doctor import trace
    >>> scores = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with trace() as t:
    ...     loss = scores.exp().sum() + (scores > 1).sum()
    >>> t.explain(loss, {"scores": scores})["loss"].cause
    'integer'
    """
    found = []
    for step in _sums(case) if case.backward is not None else ():
        call = case.history.call_of(step.node)
        if call is None or call.function or all(node is not None for node, _ in step.edges):
            continue
        for state in call.inputs:
            if _is_detached(case.history, state):
                return []  # hard + soft - soft.detach(): the value is replaced on purpose
            term = _term(case.history, state)
            if term is not None:
                found.append(_told(term, call))
    return found


def _told(term, added):
    places = (("cut at", term.where), ("added at", added.where))
    told = term.rule.finding(term.lost)
    rule = MAYBE_CONSTANT_TERM if term.rule.cause in MAYBE_MEANT else CONSTANT_TERM
    said = rule.finding(ConstantTerm(told.sentence, told.fix))
    return replace(said, cause=told.cause, section=told.section).about("loss", "wrong", places)


def _sums(case) -> Iterator[BackwardStep]:
    """The sums of single numbers that make the loss."""
    waiting = [case.backward.root]
    while waiting:
        step = waiting.pop()
        if step.kind in SUMS | SCALES and all(a and a.total == 1 for a in step.arriving):
            if step.kind in SUMS:
                yield step
            waiting += [case.backward.steps[node] for node, _ in step.edges if node is not None]


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
