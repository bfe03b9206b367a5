"""Where two steps part, and why: the lines of a comparison that found a difference."""

from collections.abc import Sequence

import torch

from autograd_surprises.comparing.alignment import agreed_before
from autograd_surprises.comparing.causes import Cause, cause_of
from autograd_surprises.comparing.compared import (
    DIFFER,
    SAME,
    Compared,
    ParameterDifference,
    who_differs,
)
from autograd_surprises.comparing.distance import distance, rounding_floor, together
from autograd_surprises.comparing.first_operation import first_operation, partners
from autograd_surprises.comparing.measured import NAMES, Runs, largest_difference
from autograd_surprises.comparing.watched_step import WatchedStep, watch_step
from autograd_surprises.doctor.tracing import trace
from autograd_surprises.graph import edge_of
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import Sentence, first_line, listed

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
    a, b, relative, why_not = _watch_both(runs, exactly=not first.only_rounded)
    rounded = not why_not and all(each.only_rounded for each in beyond)
    lower = _lower_precision(a, b) if rounded else None
    apart = together(each.apart for each in beyond)
    if rounded and not lower and apart <= DIGITS * together(each.size for each in found):
        sentence = (
            f"the gradients of all {len(found)} parameters are the same up to rounding: in float64 "
            f"they differ by {first.share(first.exact)}"
        )
        return Compared(SAME, sentence, found, also=against_float64(first))
    also = [(first.name, f"{_numbers(runs, first.name)}; {first.in_words()}")]
    also += against_float64(first)
    if why_not:
        cause, places = Cause(), _nearest(a, b, first.name)
        also += [("not watched", why_not), *_own_functions(a or b)]
    elif lower:
        cause, places = lower
    else:
        cause, places, more = _operation(a, b, relative, first.name)
        also += more
        if rounded:
            cause = Cause("rounding", "in float64 both steps compute the same: one loses digits")
        if first.size.norm and not _arrives(runs.once[1].gradients[first.name]):
            cause, places = _no_gradient(runs, first.name, cause, places)
    said = []
    if runs.losses_differ:
        said.append(("losses", f"they differ by more than rounding: {losses(runs)}"))
        said += [] if why_not else _first_values(a.recorder.values, b.recorder.values, relative)
    return Compared(DIFFER, who_differs(beyond), found, first, said, *cause, places, also)


def losses(runs: Runs) -> str:
    """Both losses, with as many digits as tell them apart."""
    a, b = distinct_digits(*(float(run.loss.double()) for run in runs.once))
    return f"{a} in a, {b} in b"


# In numbers.


def _numbers(runs, name):
    """Both numbers of a gradient where they differ most."""
    place, numbers = largest_difference(*(run.gradients[name] for run in runs.once))
    if None in numbers:
        a, b = ("None" if number is None else few_digits(number) for number in numbers)
    else:
        a, b = distinct_digits(*numbers)
    return f"{a} in a, {b} in b" + (f" at {list(place)}" if place else "")


def against_float64(one: ParameterDifference) -> list[Sentence]:
    """Do both differ in float64, too? Else which of them is nearer to it, if that is known."""
    if one.error_a is None or one.error_b is None:
        return []
    if one.exact is not None and one.differs and not one.only_rounded:
        apart = one.share(one.exact)
        return [("float64", f"there they differ, too, by {apart}, so this is not rounding")]
    nearer = f"{one.nearer} is nearer to it" if one.nearer else "both are as near to it"
    errors = f"the error of a is {one.share(one.error_a)}, of b {one.share(one.error_b)}"
    return [("float64", f"{nearer}: {errors}")]


# Where.


def _watch_both(runs, exactly):
    """Both steps, watched; the usual rounding errors of their gradients; why one is not watched.

    Where they differ in float64, too, it tells best where: rounding hides nothing.
    """
    for in_float64 in [True, False] if exactly and runs.in_float64 else [False]:
        (a, why_a), (b, why_b) = (_watch(runs, k, in_float64) for k in (0, 1))
        if not (why_a or why_b):
            break
    return a, b, runs.relative_error * (2.0**-29 if in_float64 else 1.0), why_a or why_b


def _watch(runs, k, exactly) -> tuple[WatchedStep | None, str]:
    """A step, watched, or why it is not."""
    try:
        return runs.do(watch_step, k, runs.model, exactly=exactly), ""
    except Exception as error:  # it is compiled, or an operation does not run so
        return None, f"{NAMES[k]} {first_line(error)}"


def _operation(a, b, relative, name):
    """(cause, places, sentences) of the first operation at which two watched steps part."""
    found = first_operation(a, b, relative, name)
    cause = cause_of(found, b.recorder.inputs_of_relu | a.recorder.inputs_of_relu)
    names = [listed([step.name for step in steps], most=4) for steps in (found.in_a, found.in_b)]
    rows = []
    if any(names):
        rows.append(("operation", f"{names[0] or 'nothing'} in a, {names[1] or 'nothing'} in b"))
    mine, theirs, _ = found.after
    if found.kind != "shape" and mine is not None and theirs is not None:
        place, numbers = largest_difference(mine, theirs)
        here, there = distinct_digits(*numbers)
        rows.append(("gradient there", f"{here} in a, {there} in b at {list(place)}"))
    return cause, _places(*(next(iter(s), None) for s in (found.in_a, found.in_b))), rows


def _places(step, other):
    """The lines of one operation of each step."""
    both = (("a", step), ("b", other))
    return [(f"in {name}", each.where) for name, each in both if each and each.where]


def _lower_precision(a, b):
    """The first operation whose gradient has another dtype in both, as cause and places."""
    for step, other in partners(a, b).items():
        dtypes = [_dtype(each) for each in (step, other)]
        if dtypes[0] != dtypes[1] and all(dtypes):
            sentence = (
                f"precision: the gradient of {step.operation} is {' in a and '.join(dtypes)} in b, "
                "and in float64 both steps compute the same"
            )
            return Cause("precision", sentence), _places(step, other)
    return None


def _dtype(step):
    known = (gradient.dtype for gradient in step.gradients_in if gradient is not None)
    return str(next(known, "")).removeprefix("torch.")


def _nearest(a, b, parameter):
    """Where the parameter is used in the step that is watched."""
    name, watched = ("b", b) if a is None else ("a", a)
    if watched is None:
        return []
    users = watched.backward.into.get(edge_of(watched.parameters[parameter]), ())
    return [(f"nearest, in {name}", step.where) for step, _ in users if step.where][:1]


def _own_functions(watched):
    """Custom backwards in a step: torch.compile traces them under assumptions of its own."""
    own = {step.own: step for step in watched.ran if step.is_users} if watched is not None else {}
    text = "the custom backward of {}, which torch.compile traces in its own way: {}"
    return [("maybe", text.format(step.own_name, step.where)) for step in [*own.values()][:3]]


def _arrives(gradient):
    return gradient is not None and bool(gradient.any())


def _no_gradient(runs, name, cause, places):
    """The same for a parameter that has a gradient in step a only: what the doctor says of b."""
    found = runs.do(_explained, 1, name, runs.model)
    if cause.slug in ("custom-backward", "kink") and found.status != "none":
        return cause, places
    of_b = [(f"{label} in b", at) for label, at in found.places]
    return Cause("none", f"in b its gradient is {found.status}: {found.sentence}"), of_b


def _explained(step, _, parameters, name, model):
    with trace() as recording:
        loss = step()
    return recording.explain(loss, {name: parameters[name]}, model=model)[name]


def _first_values(a, b, relative):
    """The first calls of the forward pass whose results differ by more than rounding.

    What only one of the steps computes before them may be the reason.
    """

    def differ(i, j):
        mine, theirs = a[i].numbers, b[j].numbers
        floor = rounding_floor(mine, relative)
        return mine.shape != theirs.shape or distance(mine, theirs).beyond(floor)

    (i, j), found = agreed_before([v.name for v in a], [v.name for v in b], differ)
    if found == (len(a), len(b)):
        return []
    both = (("a", a[i + 1]), ("b", b[j + 1]))
    return [(f"first value, in {name}", f"{v.name}: {v.where}") for name, v in both if v.where]
