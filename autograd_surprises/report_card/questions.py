"""report_card() asks every question: by name, and the check that answers it.

A check is given a Subject. It returns a remark, or None; it raises NotApplicable, SilentlyWrong, or
what torch raises. Each runs alone.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch

from autograd_surprises.numerics import one_thread
from autograd_surprises.report_card import (
    first_order,
    memory,
    operators,
    precision,
    second_order,
    slopes,
    transforms,
)
from autograd_surprises.report_card.card import (
    NOT_APPLICABLE,
    REFUSED,
    SKIPPED,
    WORKS,
    WRONG,
    CardRow,
    ReportCard,
)
from autograd_surprises.report_card.subject import Subject, subject_of
from autograd_surprises.report_card.verdict import NotApplicable, SilentlyWrong
from autograd_surprises.show.findings import first_line

Check = Callable[[Subject], "str | None"]
FIRST = "one gradient per input"
ALWAYS = {
    FIRST: first_order.one_gradient_per_input,
    "output dtype": first_order.output_dtype,
    "linear in grad_output": first_order.linear,
    "slope": slopes.gradient_is_slope,
    "input untouched": memory.input_untouched,
    "grad_output untouched": memory.grad_output_untouched,
    "in-place safety": memory.in_place_safety,
    "inf upstream": first_order.infinite_upstream,
    "double backward": second_order.double_backward,
    "vmap": transforms.vmap,
    "vmap(grad)": transforms.vmap_of_grad,
    "jvp": transforms.jvp,
    "hessian": second_order.hessian,
    "jacfwd(jacfwd)": second_order.forward_twice,
    "autocast": precision.autocast,
    "float64": partial(precision.in_dtype, dtype=torch.float64),
    "float32": partial(precision.in_dtype, dtype=torch.float32),
    "bfloat16": partial(precision.in_dtype, dtype=torch.bfloat16),
    "float16": partial(precision.in_dtype, dtype=torch.float16),
    "large x": precision.large_input,
    "inf, NaN and -0": precision.infinite_input,
    "empty": first_order.empty,
    "0-d": first_order.zero_dimensional,
    "non-contiguous": first_order.non_contiguous,
    "memory": memory.kept_for_backward,
}
COMPILED = {
    "compile(aot_eager)": partial(transforms.compiled_with, backend="aot_eager"),
    "compile(inductor)": partial(transforms.compiled_with, backend="inductor"),
    "compile(grad)": transforms.compiled_grad,
    "compile(jvp)": transforms.compiled_jvp,
}
OPCHECK = {name: partial(operators.opcheck, test=test) for name, test in operators.TESTS.items()}


def report_card(
    fn: Callable[..., torch.Tensor],
    *inputs: object,
    like: Callable[..., torch.Tensor] | None = None,
    compile: bool = False,
) -> ReportCard:
    """What a function with a gradient supports, and where it is silently wrong.

    `inputs` are an example; the floating-point tensors that require a gradient are differentiated,
    or all of them if none does. The gradient should be that of `like`, a function of the same
    inputs, or the slope of fn by finite differences. `compile` asks about torch.compile too, which
    takes longer. An operator of torch.library is also given to torch's opcheck. Raises TypeError or
    ValueError if fn does not turn the example into one tensor of real numbers.

    >>> card = report_card(torch.relu, torch.tensor([-1.0, 2.0]))
    >>> card.passed, card["vmap"].status
    (True, 'works')
    """
    devices = [given.device for given in inputs if isinstance(given, torch.Tensor)]
    with isolated(devices[0] if devices else torch.device("cpu")):
        subject = subject_of(fn, inputs, like)
        calls_operators = bool(operators.operator_calls(subject))
    rows: list[CardRow] = []
    for name, check in (ALWAYS | (OPCHECK if calls_operators else {}) | COMPILED).items():
        if name in COMPILED and not compile:
            row = CardRow(name, SKIPPED, remedy="pass compile=True")
        elif rows and rows[0].status == REFUSED:
            row = CardRow(name, NOT_APPLICABLE, f"not asked: see {FIRST!r}")
        else:
            row = ask(subject, name, check)
        rows.append(row)
    return ReportCard(subject.name, tuple(rows))


def ask(subject: Subject, name: str, check: Check) -> CardRow:
    """One row of the card: what this check finds, isolated."""
    with isolated(subject.device):
        try:
            return CardRow(name, WORKS, check(subject) or "")
        except NotApplicable as reason:
            return CardRow(name, NOT_APPLICABLE, str(reason))
        except SilentlyWrong as wrong:
            return CardRow(name, WRONG, wrong.where, wrong.yours, wrong.expected, wrong.remedy)
        except Exception as error:
            message = f"{type(error).__name__}: {first_line(error)}"
            return CardRow(name, REFUSED, message, remedy=operators.remedy_of(subject, error))


@contextmanager
def isolated(device: torch.device) -> Iterator[None]:
    """Gradients on, autocast off, one thread, seed 0, no warnings, no log.

    All of it is restored afterwards, and the default dtype; after an error, too.

    >>> with torch.no_grad(), isolated(torch.device("cpu")):
    ...     torch.is_grad_enabled()
    True
    """
    dtype = torch.get_default_dtype()
    logged = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the compiler logs what the card says itself
    # torch 2.13 writes this one past Python, to the terminal
    torch._C._functorch._set_vmap_fallback_warning_enabled(False)
    devices = [device] if device.type == "cuda" else []
    try:
        with (
            warnings.catch_warnings(),
            torch.random.fork_rng(devices),
            torch.inference_mode(False),  # which turns gradients on, too
            torch.autocast(device.type, enabled=False),
            one_thread(),
        ):
            warnings.simplefilter("ignore")
            # torch.manual_seed would also seed other devices, and nothing would restore those
            (torch.manual_seed if devices else torch.default_generator.manual_seed)(0)
            yield
    finally:
        torch._C._functorch._set_vmap_fallback_warning_enabled(True)
        logging.disable(logged)
        torch.set_default_dtype(dtype)
