"""report_card(): ask every question, each on its own."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograd_surprises.messages import remedy_for
from autograd_surprises.report_card import (
    compiled,
    first_order,
    in_place,
    memory,
    precision,
    processes,
    second_order,
    shapes,
    slopes,
    transforms,
)
from autograd_surprises.report_card.card import (
    NOT_APPLICABLE,
    REFUSED,
    SKIPPED,
    WORKS,
    WRONG,
    ReportCard,
    Row,
)
from autograd_surprises.report_card.isolation import isolated
from autograd_surprises.report_card.subject import Subject, examine, first_line
from autograd_surprises.report_card.verdict import NotApplicable, Wrong

FIRST = "one gradient per input"
ALWAYS = {
    FIRST: first_order.one_gradient_per_input,
    "gradient shape and dtype": first_order.shape_and_dtype,
    "linear in grad_output": first_order.linear,
    "slope": slopes.slope,
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
    "float64": precision.in_dtype(torch.float64),
    "float32": precision.in_dtype(torch.float32),
    "bfloat16": precision.in_dtype(torch.bfloat16),
    "float16": precision.in_dtype(torch.float16),
    "large x": precision.large_input,
    "inf, NaN and -0": precision.infinite_input,
    "empty": shapes.empty,
    "0-d": shapes.zero_dimensional,
    "non-contiguous": shapes.non_contiguous,
    "memory": memory.memory,
}
COMPILED = {
    "compile(aot_eager)": compiled.compiled_with("aot_eager"),
    "compile(inductor)": compiled.compiled_with("inductor"),
    "compile(grad)": compiled.compiled_grad,
    "compile(jvp)": compiled.compiled_jvp,
    "compile(vmap)": compiled.compiled_vmap,
}
PROCESSES = {"two processes": processes.two_processes}


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
        subject = examine(fn, inputs, like)
    rows = []
    for questions, wanted, remedy in (
        (ALWAYS, True, ""),
        (COMPILED, compile, "pass compile=True"),
        (PROCESSES, processes, "pass processes=True"),
    ):
        for name, check in questions.items():
            if not wanted:
                rows.append(Row(name, SKIPPED, remedy=remedy))
            elif rows and rows[0].status == REFUSED:
                rows.append(Row(name, NOT_APPLICABLE, f"not asked: see {FIRST!r}"))
            else:
                rows.append(_answer(subject, name, check))
    return ReportCard(subject.name, tuple(rows))


def _answer(subject: Subject, name, check) -> Row:
    try:
        with isolated(subject.device):
            return Row(name, WORKS, check(subject))
    except NotApplicable as reason:
        return Row(name, NOT_APPLICABLE, str(reason))
    except Wrong as wrong:
        return Row(name, WRONG, wrong.where, wrong.yours, wrong.expected, wrong.remedy)
    except Exception as error:
        message = f"{type(error).__name__}: {first_line(error)}"
        return Row(name, REFUSED, message, remedy=remedy_for(str(error)))


def _device(inputs):
    tensors = [given for given in inputs if isinstance(given, torch.Tensor)]
    return tensors[0].device if tensors else torch.device("cpu")
