"""report_card() asks every question: by name, and the check that answers it.

A check is given a Subject. It returns a remark, or None; it raises NotApplicable, SilentlyWrong, or
what torch raises. Each runs alone.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from autograd_surprises.report_card import (
    compiled,
    first_order,
    in_place,
    memory,
    operators,
    precision,
    second_order,
    shapes,
    slopes,
    transforms,
)
from autograd_surprises.report_card.budget import TimeIsUp, until
from autograd_surprises.report_card.card import (
    NOT_APPLICABLE,
    NOT_ASKED,
    REFUSED,
    SKIPPED,
    WORKS,
    WRONG,
    CardRow,
    ReportCard,
)
from autograd_surprises.report_card.isolation import isolated
from autograd_surprises.report_card.processes import two_processes
from autograd_surprises.report_card.progress import progress
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.validation import subject_of
from autograd_surprises.report_card.verdict import NotApplicable, SilentlyWrong
from autograd_surprises.show.findings import first_line

Check = Callable[[Subject], "str | None"]
FIRST = "one gradient per input"
ALWAYS = {
    FIRST: first_order.one_gradient_per_input,
    "gradient shape and dtype": first_order.shape_and_dtype,
    "output dtype": first_order.output_dtype,
    "linear in grad_output": first_order.linear,
    "slope": slopes.gradient_is_slope,
    "input untouched": in_place.input_untouched,
    "grad_output untouched": in_place.grad_output_untouched,
    "in-place safety": in_place.in_place_safety,
    "inf upstream": first_order.infinite_upstream,
    "double backward": second_order.double_backward,
    "gradgradcheck": second_order.gradgradcheck,
    "vmap": transforms.vmap,
    "vmap(grad)": transforms.vmap_of_grad,
    "jacrev": transforms.jacrev,
    "jvp": transforms.jvp,
    "jacfwd": transforms.jacfwd,
    "hessian": second_order.hessian,
    "jacfwd(jacfwd)": second_order.forward_twice,
    "autocast": precision.autocast,
    "float64": partial(precision.in_dtype, dtype=torch.float64),
    "float32": partial(precision.in_dtype, dtype=torch.float32),
    "bfloat16": partial(precision.in_dtype, dtype=torch.bfloat16),
    "float16": partial(precision.in_dtype, dtype=torch.float16),
    "large x": precision.large_input,
    "inf, NaN and -0": precision.infinite_input,
    "empty": shapes.empty,
    "0-d": shapes.zero_dimensional,
    "non-contiguous": shapes.non_contiguous,
    "memory": memory.kept_for_backward,
}
COMPILED = {
    "compile(aot_eager)": partial(compiled.compiled_with, backend="aot_eager"),
    "compile(inductor)": partial(compiled.compiled_with, backend="inductor"),
    "compile(grad)": compiled.compiled_grad,
    "compile(jvp)": compiled.compiled_jvp,
    "compile(vmap)": compiled.compiled_vmap,
}
OPCHECK = {name: partial(operators.opcheck, test=test) for name, test in operators.TESTS.items()}
PROCESSES = {"two processes": two_processes}


def report_card(
    fn: Callable[..., torch.Tensor],
    *inputs: object,
    like: Callable[..., torch.Tensor] | None = None,
    compile: bool = False,
    processes: bool = False,
    seconds: float = 120.0,
) -> ReportCard:
    """What a function with a gradient supports, and where it is silently wrong.

    `inputs` are an example; the floating-point or complex tensors that require a gradient are
    differentiated, or all of them if none does. The gradient should be that of `like`, a function
    of the same inputs, or the slope of fn by finite differences. `compile` and `processes` ask
    about torch.compile and DistributedDataParallel too, which takes longer. After `seconds`, no
    further question is asked. An operator of torch.library is also given to torch's opcheck; a
    complex number counts as two real ones. Raises TypeError or ValueError if fn does not turn the
    example into one tensor of real or complex numbers.

    >>> card = report_card(torch.relu, torch.tensor([-1.0, 2.0]))
    >>> card.passed, card["vmap"].status
    (True, 'works')
    """
    end = time.monotonic() + seconds
    rows, late = [], f"pass more than seconds={seconds:g}, or a smaller example"
    try:
        with isolated(_device(inputs)), until(end), progress("looking at the example"):
            subject = subject_of(fn, inputs, like)
            calls_operators = bool(operators.operator_calls(subject))
    except TimeIsUp:
        raise ValueError(f"fn is too slow for its example: {late}") from None
    for questions, wanted, remedy in (
        (ALWAYS, True, ""),
        (OPCHECK if calls_operators else {}, True, ""),
        (COMPILED, compile, "pass compile=True"),
        (PROCESSES, processes, "pass processes=True"),
    ):
        for name, check in questions.items():
            if not wanted:
                rows.append(CardRow(name, SKIPPED, remedy=remedy))
            elif rows and rows[0].status == REFUSED:
                rows.append(CardRow(name, NOT_APPLICABLE, f"not asked: see {FIRST!r}"))
            else:
                with progress(f"{len(rows) + 1}: {name}"):
                    row = ask(subject, name, check, end)
                rows.append(replace(row, remedy=late) if row.status == NOT_ASKED else row)
    return ReportCard(subject.name, tuple(rows))


def ask(subject: Subject, name: str, check: Check, end: float = math.inf) -> CardRow:
    """One row of the card: what this check finds, isolated, and how long it took.

    It is not asked any longer than until time.monotonic() is `end`.

    >>> ask(Subject(torch.relu, (torch.ones(2),)), "slope", ALWAYS["slope"]).status
    'works'
    """
    start = time.monotonic()
    try:
        with isolated(subject.device), until(end):  # in this order: what is put back, is all of it
            row = _answer(subject, name, check)
    except TimeIsUp:
        row = CardRow(name, NOT_ASKED, "the time is up")
    return replace(row, seconds=time.monotonic() - start)


def _answer(subject, name, check):
    try:
        return CardRow(name, WORKS, check(subject) or "")
    except NotApplicable as reason:
        return CardRow(name, NOT_APPLICABLE, str(reason))
    except SilentlyWrong as wrong:
        return CardRow(name, WRONG, wrong.where, wrong.yours, wrong.expected, wrong.remedy)
    except Exception as error:
        message = f"{type(error).__name__}: {first_line(error)}"
        return CardRow(name, REFUSED, message, remedy=operators.remedy_of(subject, error))


def _device(inputs):
    tensors = [given for given in inputs if isinstance(given, torch.Tensor)]
    return tensors[0].device if tensors else torch.device("cpu")
