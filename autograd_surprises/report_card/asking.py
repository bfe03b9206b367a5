"""report_card(): ask every question, each isolated from the others."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograd_surprises.messages import remedy_for
from autograd_surprises.report_card.card import (
    NOT_APPLICABLE,
    REFUSED,
    SKIPPED,
    WORKS,
    WRONG,
    CardRow,
    ReportCard,
)
from autograd_surprises.report_card.isolation import isolated
from autograd_surprises.report_card.questions import ALWAYS, COMPILED, FIRST, PROCESSES
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.validation import subject_of
from autograd_surprises.report_card.verdict import NotApplicable, SilentlyWrong, first_line


def report_card(
    fn: Callable[..., torch.Tensor],
    *inputs,
    like: Callable[..., torch.Tensor] | None = None,
    compile: bool = False,
    processes: bool = False,
) -> ReportCard:
    """What a function with a gradient supports, and where it is silently wrong.

    `inputs` are an example; the floating-point tensors that require a gradient are differentiated,
    or all of them if none does. The gradient should be that of `like`, a function of the same
    inputs, or the slope of fn by finite differences. `compile` and `processes` ask about
    torch.compile and DistributedDataParallel too, which takes longer. Raises TypeError or
    ValueError if fn does not turn the example into one floating-point tensor.

    >>> card = report_card(torch.relu, torch.tensor([-1.0, 2.0]))
    >>> card.passed, card["vmap"].status
    (True, 'works')
    """
    with isolated(_device(inputs)):
        subject = subject_of(fn, inputs, like)
    rows = []
    for questions, wanted, remedy in (
        (ALWAYS, True, ""),
        (COMPILED, compile, "pass compile=True"),
        (PROCESSES, processes, "pass processes=True"),
    ):
        for name, check in questions.items():
            if not wanted:
                rows.append(CardRow(name, SKIPPED, remedy=remedy))
            elif rows and rows[0].status == REFUSED:
                rows.append(CardRow(name, NOT_APPLICABLE, f"not asked: see {FIRST!r}"))
            else:
                rows.append(ask(subject, name, check))
    return ReportCard(subject.name, tuple(rows))


def ask(subject: Subject, name: str, check: Callable[[Subject], str]) -> CardRow:
    """One row of the card: what this check finds, isolated.

    >>> ask(Subject(torch.relu, (torch.ones(2),)), "slope", ALWAYS["slope"]).status
    'works'
    """
    try:
        with isolated(subject.device):
            return CardRow(name, WORKS, check(subject))
    except NotApplicable as reason:
        return CardRow(name, NOT_APPLICABLE, str(reason))
    except SilentlyWrong as wrong:
        return CardRow(name, WRONG, wrong.where, wrong.yours, wrong.expected, wrong.remedy)
    except Exception as error:
        message = f"{type(error).__name__}: {first_line(error)}"
        return CardRow(name, REFUSED, message, remedy=remedy_for(str(error)))


def _device(inputs):
    tensors = [given for given in inputs if isinstance(given, torch.Tensor)]
    return tensors[0].device if tensors else torch.device("cpu")
