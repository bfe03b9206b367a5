"""Where two steps part, and why: the lines of a comparison that found a difference."""

import math
from collections.abc import Sequence

import torch

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
from autograd_surprises.comparing.one_step import first_line
from autograd_surprises.comparing.watched_step import NotWatched, WatchedStep, watch_step
from autograd_surprises.doctor.tracing import trace
from autograd_surprises.graph import leaf_of
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import Sentence, listed

DIGITS = torch.finfo(torch.float32).eps ** 0.5  # the half of those of float32


def where_they_part(
    runs: Runs, found: Sequence[ParameterDifference], beyond: Sequence[ParameterDifference]
) -> Compared:
    """What is to be said of these differences; `beyond` are those that are more than rounding.

    >>> from autograd_surprises.comparing import compare
    >>> layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> compare(lambda: layer(x).relu().sum(), lambda: layer(x).tanh().sum(), layer).status
    'differ'
    """
    first = beyond[0]
    a, b, why_not, exactly = _watch_both(runs, exactly=not first.only_rounded)
    relative = runs.relative_error * (2.0**-29 if exactly else 1.0)
    rounded = not why_not and all(each.only_rounded for each in beyond)
    lower = _lower_precision(a, b) if rounded else None
    if rounded and lower is None and not _loses_digits(found):
        sentence = (
            f"the gradients of all {len(found)} parameters are the same up to rounding: in float64 "
            f"they differ by {share(first.relative(first.exact))}"
        )
        return Compared(SAME, sentence, tuple(found), also=tuple(against_float64(first)))
    others = listed([each.name for each in beyond[1:]], most=3)
    sentence = (
        f"{first.name} is the first parameter in backward whose gradient differs by more than "
        + (f"rounding; so do {others}" if others else "rounding, and the only one")
    )
    also = [(first.name, _numbers(first)), *against_float64(first)]
    if first.exact is not None and not first.only_rounded and not why_not:
        apart = share(first.relative(first.exact))
        text = f"there they differ, too, by {apart}, so this is not rounding"
        also[1:] = [("float64", text)]
    seen = not why_not
    of_losses = _loss_lines(runs, seen, exactly, relative) if runs.losses_differ else ()
    if lower is not None:
        cause, places = lower
    elif not why_not:
        cause, places, more = _operation(a, b, relative, first.name)
        also += more
        if rounded:
            cause = Cause("rounding", "in float64 both steps compute the same: one loses digits")
        if not _arrives(runs.b.gradients[first.name]) and first.size.norm:
            cause, places = _no_gradient(runs, first, cause, places)
    else:
        cause, places = Cause("", ""), _nearest(a, b, first.name)
        also += [("not watched", why_not), *_own_functions(a or b)]
    return Compared(
        DIFFER,
        sentence,
        tuple(found),
        first,
        tuple(of_losses),
        cause.slug,
        cause.sentence,
        tuple(places),
        tuple(also),
    )


def losses(runs: Runs) -> str:
    """Both losses, with as many digits as tell them apart."""
    a, b = distinct_digits(*(float(run.loss.double()) for run in (runs.a, runs.b)))
    return f"{a} in a, {b} in b"


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
        f"{share(first.relative(first.apart))}, rounding errors there "
        f"{share(first.relative(first.floor))}"
    )


def against_float64(difference: ParameterDifference) -> list[Sentence]:
    """Which of both steps is nearer to float64, if that is known."""
    one = difference
    if one.error_a is None:
        return []
    error_a, error_b = (share(one.relative(each)) for each in (one.error_a, one.error_b))
    nearer = f"{one.nearer} is nearer to it" if one.nearer else "both are as near to it"
    return [("float64", f"{nearer}: the error of a is {error_a}, of b {error_b}")]


def _loses_digits(found):
    """Does rounding cost more than half of the digits, of all gradients together?"""
    apart, whole = (
        math.hypot(*sizes)
        for sizes in zip(
            *((each.apart.norm * each.differs, each.size.norm) for each in found), strict=True
        )
    )
    return apart > whole * DIGITS


# Where.


def _watch_both(runs, exactly):
    """(step a and b, watched; why one of them is not; were they watched in float64?)

    Where they differ in float64, too, it tells best where: rounding hides nothing.
    """
    if exactly and runs.exact_a is not None and runs.exact_b is not None and runs.scale == 1.0:
        both = [_watch(runs, name, exactly=True) for name in ("step_a", "step_b")]
        if not any(why for _, why in both):
            return both[0][0], both[1][0], "", True
    (a, why_not_a), (b, why_not_b) = (_watch(runs, name) for name in ("step_a", "step_b"))
    return a, b, why_not_a or why_not_b, False


def _watch(runs, name, exactly=False) -> tuple[WatchedStep | None, str]:
    """A step, watched, or why it is not."""
    try:
        step = getattr(runs, name)
        return runs.do(watch_step, step, name, runs.model, exactly=exactly), ""
    except NotWatched as error:
        return None, f"{name} {error}"
    except Exception as error:
        if exactly:  # an operation that float64 does not have
            return None, first_line(error)
        raise


def _operation(a, b, relative, name):
    """(cause, places, sentences) of the first operation at which two watched steps part."""
    found = TwoBackwards(a, b, relative).first(name)
    cause = cause_of(found, {**b.inputs, **a.inputs})
    return cause, _places(found.in_a[:1], found.in_b[:1]), _at_operation(found)


def _places(in_a, in_b, label="in"):
    both = (("a", in_a), ("b", in_b))
    return [(f"{label} {name}", s.where) for name, steps in both for s in steps if s.where]


def _at_operation(found):
    """Names and numbers; of a gradient that only one of both has, and of a shape, none."""
    names = [listed([step.name for step in steps], most=4) for steps in (found.in_a, found.in_b)]
    rows = []
    if any(names):
        rows.append(("operation", f"{names[0] or 'nothing'} in a, {names[1] or 'nothing'} in b"))
    mine, theirs, _ = found.after
    if found.kind != "shape" and mine is not None and theirs is not None:
        place, numbers = largest_difference(mine, theirs)
        here, there = distinct_digits(*numbers)
        rows.append(("gradient there", f"{here} in a, {there} in b at {list(place)}"))
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


def _nearest(a, b, parameter):
    """Where the parameter is used in the step that is watched."""
    name, watched = ("a", a) if a is not None else ("b", b)
    if watched is None:
        return []
    leaf, into = watched.parameters[parameter], watched.backward.into.items()
    users = [step for (node, _), pairs in into if leaf_of(node) is leaf for step, _ in pairs]
    return [(f"nearest, in {name}", step.where) for step in users if step.where][:1]


def _own_functions(watched):
    """Custom backwards in a step: torch.compile traces them under assumptions of its own."""
    own = {step.own: step for step in watched.ran if step.is_users} if watched is not None else {}
    text = "the custom backward of {}, which torch.compile traces in its own way: {}"
    return [("maybe", text.format(step.own_name, step.where)) for step in [*own.values()][:3]]


def _arrives(gradient):
    return gradient is not None and bool(gradient.any())


def _no_gradient(runs, first, cause, places):
    """The same for a parameter that has a gradient in step a only: what the doctor says of b."""
    found = runs.do(_explained, runs.step_b, runs.model, first.name)
    of_b = [(f"{label} in b", at) for label, at in found.places]
    if cause.slug in ("custom-backward", "kink") and found.status != "none":
        return cause, [*places, *of_b]
    return Cause("none", f"in b its gradient is {found.status}: {found.sentence}"), of_b


def _explained(step, model, name, parameters):
    with trace() as recording:
        loss = step()
    return recording.explain(loss, {name: parameters[name]}, model=model)[name]


def _loss_lines(runs, seen, exactly, relative):
    """The losses, and where in the forward pass values differ first."""
    rows = [("losses", f"they differ by more than rounding: {losses(runs)}")]
    if not seen:
        return rows
    values = [runs.do(_results, step, exactly=exactly) for step in (runs.step_a, runs.step_b)]
    for name, value in zip("ab", first_different(*values, relative) or (), strict=False):
        if value.where is not None:
            rows.append((f"first value, in {name}", f"{value.name}: {value.where}"))
    return rows


def _results(step, parameters):
    with ForwardResults() as results:
        step()
    return results.values
