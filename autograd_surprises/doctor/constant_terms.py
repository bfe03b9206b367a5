"""Terms of the loss that have no history: they change its value, and train nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_surprises.doctor.case import Case
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.forward_calls import ForwardCall
from autograd_surprises.doctor.history import History
from autograd_surprises.doctor.rules.cuts import Cut
from autograd_surprises.doctor.rules.rule import Named
from autograd_surprises.doctor.rules.wrong import CONSTANT_TERM
from autograd_surprises.doctor.steps import BackwardStep

SUMS = {"Add", "Sub"}
SCALES = {"Mul", "Div", "Neg", "Alias", "Clone", "View", "Squeeze"}
BY_ACCIDENT = {"copy", "integer", "no-derivative", "escape"}  # a term of the loss is never meant so


def constant_terms(case: Case) -> list[Finding]:
    """Terms computed from tensors with a history that was cut by accident.

    >>> from autograd_surprises.doctor import trace
    >>> scores = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with trace() as t:
    ...     loss = scores.exp().sum() + torch.tensor([scores.square().sum()]).mean()
    >>> t.explain(loss, {"scores": scores})["loss"].cause
    'copy'
    """
    found = []
    for step in _sums(case) if case.backward is not None else ():
        call = case.history.call_of(step.node)
        if call is None or call.function or all(node is not None for node, _ in step.edges):
            continue
        for state in call.inputs:
            cut_by, cut = _cut_behind(case.history, state)
            if cut is not None:
                places = (("cut at", cut.lost.around or cut_by.where), ("added at", call.where))
                told = cut.rule.finding(cut.lost)
                sentence = CONSTANT_TERM.finding(Named(told.sentence)).sentence
                found.append(replace(told, sentence=sentence).about("loss", "wrong", places))
    return found


def _sums(case) -> Iterator[BackwardStep]:
    """The sums of single numbers that make the loss."""
    waiting = [case.backward.root]
    while waiting:
        step = waiting.pop()
        if step.kind in SUMS | SCALES and all(a and a.total == 1 for a in step.arriving):
            if step.kind in SUMS:
                yield step
            waiting += [case.backward.steps[node] for node, _ in step.edges if node is not None]


def _cut_behind(history: History, state: int) -> tuple[ForwardCall | None, Cut | None]:
    """The first cut behind a term, if every cut behind it is an accident."""
    waiting, seen, cuts = [state], set(), []
    while waiting:
        state = waiting.pop()
        call = history.makers.get(state)
        if call is None or state in seen:
            continue
        seen.add(state)
        if state in call.cuts:
            cuts.append((call, call.cuts[state]))
        elif call.makes_history:
            return None, None
        else:
            waiting += call.inputs
    if not cuts or not all(cut.cause in BY_ACCIDENT for _, cut in cuts):
        return None, None
    return min(cuts, key=lambda pair: pair[0].index)
