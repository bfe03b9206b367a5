"""Where two steps part, and why: the lines of a comparison that found a difference."""

import sys
from collections.abc import Sequence

from autograd_surprises.comparing.causes import Cause, cause_of
from autograd_surprises.comparing.compared import (
    DIFFER,
    SAME,
    Compared,
    ParameterDifference,
    share,
)
from autograd_surprises.comparing.first_operation import TwoBackwards, partners
from autograd_surprises.comparing.first_value import ForwardResults, first_different
from autograd_surprises.comparing.measured import Runs, largest_difference
from autograd_surprises.comparing.watched_step import WatchedStep, watch_step
from autograd_surprises.doctor.diagnosis import examine
from autograd_surprises.graph import leaf_of
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import listed


def where_they_part(
    runs: Runs, found: Sequence[ParameterDifference], beyond: Sequence[ParameterDifference]
) -> Compared:
    """What is to be said of these differences; `beyond` are those that are more than rounding."""
    first = beyond[0]
    compiled = [name for name, run in (("a", runs.a), ("b", runs.b)) if run.compiled]
    a = _watch(runs, runs.step_a, "step_a")
    b = _watch(runs, runs.step_b, "step_b")
    rounded = all(each.only_rounded for each in beyond) and a is not None and b is not None
    lower = _lower_precision(a, b) if rounded else None
    if rounded and lower is None:
        return Compared(SAME, _less_exact(found, first), tuple(found))
    names = listed([each.name for each in beyond[1:]], most=3)
    others = f"; also {names}" if names else ""
    sentence = (
        f"the gradient of {first.name} is the first in backward that differs by more than "
        f"rounding, and {len(beyond)} of {len(found)} do{others}"
    )
    also = [("gradient", _numbers(first)), *_against_float64(first, compiled)]
    if runs.losses_differ:
        also = [*_loss_lines(runs, a, b), *also]
    if lower is not None:
        cause, places = lower
    elif a is not None and b is not None:
        cause, places, more = _operation(runs, a, b, first)
        also += more
    else:
        cause, places, more = _not_watched(runs, a, b, first, compiled)
        also += more
    also += _no_gradient(runs, b, first)
    return Compared(
        DIFFER,
        sentence,
        tuple(found),
        first,
        cause.slug,
        cause.sentence,
        tuple(places),
        tuple(also),
    )


def losses(runs: Runs) -> str:
    """Both losses, with as many digits as tell them apart."""
    a, b = distinct_digits(*(float(run.loss.double()) for run in (runs.a, runs.b)))
    return f"{a} in a, {b} in b"


def _watch(runs, step, name, exactly=False) -> WatchedStep | None:
    return runs.do(lambda: watch_step(step, runs.parameters, name), exactly)


# In numbers.


def _numbers(first):
    """Both numbers where they differ most, and the difference as a share."""
    if first.number_a is not None and first.number_b is not None:
        numbers = distinct_digits(first.number_a, first.number_b)
    else:
        numbers = [
            "None" if number is None else few_digits(number)
            for number in (first.number_a, first.number_b)
        ]
    place = f" at {list(first.place)}" if first.place else ""
    return (
        f"{numbers[0]} in a, {numbers[1]} in b{place}; relative difference "
        f"{share(first.relative(first.apart))}, of which rounding explains "
        f"{share(first.relative(first.floor))}"
    )


def _against_float64(first, compiled):
    """Which of both is nearer to float64, or that they differ there, too."""
    if first.error_a is None:
        return [("float64", "not known")]
    error_a, error_b = (share(first.relative(each)) for each in (first.error_a, first.error_b))
    if first.exact is not None and not first.only_rounded and not compiled:
        apart = share(first.relative(first.exact))
        return [("float64", f"there they differ, too, by {apart}: these are different functions")]
    nearer = "a" if first.error_a.norm <= first.error_b.norm else "b"
    return [("float64", f"{nearer} is nearer to it: the error of a is {error_a}, of b {error_b}")]


def _less_exact(found, first):
    error_a, error_b = (share(first.relative(each)) for each in (first.error_a, first.error_b))
    nearer = "a" if first.error_a.norm <= first.error_b.norm else "b"
    return (
        f"the gradients of all {len(found)} parameters are the same up to rounding, and {nearer} "
        f"rounds less: in {first.name} the error of a against float64 is {error_a}, of b {error_b}, "
        f"and in float64 they differ by {share(first.relative(first.exact))}"
    )


# Where.


def _operation(runs, a, b, first):
    """(cause, places, sentences) of the first operation at which two watched steps part."""
    exact = None
    if runs.exact_a is not None:
        exact = _watch(runs, runs.step_a, "step_a", exactly=True)
    both = TwoBackwards(a, b, exact, runs.scale, runs.relative_error)
    found = both.first(runs.parameters[first.name])
    cause = cause_of(found, {**b.inputs, **a.inputs})
    return cause, _places(found.in_a[:1], found.in_b[:1]), _at_operation(found)


def _places(in_a, in_b, label="in"):
    both = (("a", in_a), ("b", in_b))
    return [(f"{label} {name}", s.where) for name, steps in both for s in steps if s.where]


def _at_operation(found):
    """Names and numbers; of a gradient that only one of both has, and of a shape, none."""
    names = [listed([step.name for step in steps], most=4) for steps in (found.in_a, found.in_b)]
    rows = [("operation", f"{names[0] or 'nothing'} in a, {names[1] or 'nothing'} in b")]
    mine, theirs, _ = found.after
    if found.kind != "shape" and mine is not None and theirs is not None:
        place, numbers = largest_difference(mine, theirs)
        here, there = distinct_digits(*numbers)
        rows.append(("behind it", f"{here} in a, {there} in b at {list(place)}"))
    if found.behind is not None and not (found.in_a and found.in_b):
        rows += [(label, str(at)) for label, at in _places(*([s] for s in found.behind), "then in")]
    return rows


def _lower_precision(a, b):
    """The first operation whose gradient has another dtype in both, as cause and places."""
    for step, other in partners(a, b).items():
        mine, theirs = (_dtype(each) for each in (step, other))
        if mine is not theirs and mine is not None and theirs is not None:
            dtypes = " in a and ".join(str(each).removeprefix("torch.") for each in (mine, theirs))
            sentence = (
                f"precision: the gradient of {step.operation} is {dtypes} in b, and in float64 "
                "both steps compute the same"
            )
            return Cause("precision", sentence), _places([step], [other])
    return None


def _dtype(step):
    return next((gradient.dtype for gradient in step.gradients_in if gradient is not None), None)


def _not_watched(runs, a, b, first, compiled):
    """The same where operations of one of both are not known."""
    name, watched = ("a", a) if a is not None else ("b", b)
    which = " and ".join(f"step {each}" for each in compiled) or "one step"
    more = [("compiled", f"{which}: operations inside of it cannot be told apart")]
    if watched is None:
        return Cause("", ""), [], more
    places = []
    parameter = runs.parameters[first.name]
    for (node, _), steps in watched.backward.into.items():
        if leaf_of(node) is parameter:
            places = [(f"nearest, in {name}", step.where) for step, _ in steps if step.where]
    own = [step for step in watched.ran if step.is_users]
    for step in list({step.own: step for step in own}.values())[:3]:
        text = f"the custom backward of {step.own_name}, which torch.compile traces: {step.where}"
        more.append(("maybe", text))
    return Cause("", ""), places, more


def _no_gradient(runs, b, first):
    """What the doctor says of a parameter that has a gradient in step a only."""
    missing = runs.b.gradients[first.name]
    if b is None or (missing is not None and missing.any()) or not first.size.norm:
        return []
    report = runs.do(
        lambda: examine(
            b.loss, {first.name: runs.parameters[first.name]}, runs.model, None, None,
            b.recorder, sys._getframe(),
        )
    )  # fmt: skip
    finding = report[first.name]
    return [(f"{finding.status} in b", finding.sentence), *((x, str(y)) for x, y in finding.places)]


def _loss_lines(runs, a, b):
    """The losses, and where in the forward pass values differ first."""
    rows = [("losses", f"they differ by more than rounding: {losses(runs)}")]
    if a is None or b is None:
        return rows
    seen = [_results(runs, runs.step_a), _results(runs, runs.step_b)]
    exact = _results(runs, runs.step_a, exactly=True) if runs.exact_a is not None else []
    pair = first_different(*seen, exact, runs.scale, runs.relative_error)
    for name, value in zip("ab", pair or (), strict=False):
        if value.where is not None:
            rows.append((f"first value, in {name}", f"{value.name}: {value.where}"))
    return rows


def _results(runs, step, exactly=False):
    def action():
        with ForwardResults() as results:
            step()
        return results.values

    return runs.do(action, exactly)
