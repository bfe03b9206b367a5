"""compare(): whose gradients two steps compute differently, where, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import nn

from autograd_surprises.comparing.in_float64 import in_precision
from autograd_surprises.comparing.running import (
    Run,
    Step,
    beyond,
    distance,
    in_numbers,
    moved,
    put_back,
    rounding,
    where_they_part,
)
from autograd_surprises.facts.processes import is_spread
from autograd_surprises.numerics import few_digits
from autograd_surprises.show.findings import Sentence, findings_text, first_line, listed

SAME, DIFFER, UNDECIDED = "same", "differ", "undecided"
NAMES = "step_a", "step_b"
UNSTEADY = 0.01  # of all gradients
ROUNDING = "rounding: in float64 both steps compute the same, so one of them loses digits"
KINK = (
    "a kink or a tie, where a and b follow other conventions: with each parameter moved by about "
    "a hundredth, both gradients are the same"
)


@dataclass(frozen=True)
class ParameterDifference:
    """The gradients of one parameter in both steps: how large, how far apart, in norms."""

    name: str
    size: float
    apart: float
    floor: float  # how far rounding, or steps that are not the same twice, may put them apart
    differs: bool = False
    exact: float | None = None  # how far they are apart in float64; None if that is not known

    @property
    def only_rounded(self) -> bool:
        """Are both the same in float64, but for its own rounding?"""
        return self.exact is not None and self.exact <= self.apart / 1000

    def __str__(self):
        norms = self.apart, self.floor, *(() if self.exact is None else (self.exact,))
        shares = [few_digits(norm / (self.size or 1.0), 2) for norm in norms]
        said = "relative difference {}, rounding errors there {}".format(*shares)
        return f"{said}; in float64 {shares[2]}" if shares[2:] else said


@dataclass(frozen=True)
class Compared:
    """What compare() found. It shows itself as text.

    status      same, differ or undecided
    parameters  each with its difference, in the order in which backward reaches them
    first       the first of them that differs, or None
    cause       why, if it is known: kink, rounding or operations; of compiled code also
                custom-backward or compiler; or ""
    rows        more sentences, each with a label

    >>> print(Compared("same", "bit for bit", ()))
    SAME  bit for bit
    """

    status: str
    sentence: str
    parameters: Sequence[ParameterDifference]
    first: ParameterDifference | None = None
    cause: str = ""
    rows: Sequence[Sentence] = ()

    @property
    def same(self) -> bool:
        """Are all gradients the same, up to rounding?"""
        return self.status == SAME

    def __str__(self):
        return findings_text(f"{self.status.upper()}  {self.sentence}", self.rows)

    __repr__ = __str__


def compare(step_a: Step, step_b: Step, model: nn.Module) -> Compared:
    """Say whether two steps compute the same gradients, and if not, where they part and why.

    Each step is a function without arguments that runs a forward pass of `model`, with the same
    batch each time, and returns the loss. compare runs the backward itself, several times, also in
    float64: that is how it knows how large rounding errors are. A difference counts if it is more
    than 8 times the error of step_a. Parameters, buffers, .grad, attributes of modules and the
    random generators of torch, Python and NumPy are put back after each run. What a step keeps
    elsewhere is that of the last run, perhaps in float64.

    Raises TypeError or ValueError for what cannot be compared.

    >>> model, x = nn.Linear(2, 1), torch.ones(3, 2)
    >>> compare(lambda: model(x).sum(), lambda: 3 * model(x).mean(), model).same
    True
    """
    for name, step in zip(NAMES, (step_a, step_b), strict=True):
        if not callable(step):
            raise TypeError(
                f"{name} has to be a function that returns the loss, such as lambda: "
                f"loss_fn(model(x), y), got {type(step).__name__}"
            )
    return judged(Runs(model, (step_a, step_b)))


def judged(runs: Runs) -> Compared:
    """What the runs show."""
    found = runs.differences()
    differ = [each for each in found if each.differs]
    if undecided := runs.why_undecided(found, differ):
        return Compared(UNDECIDED, undecided, found)
    if not differ:
        return Compared(SAME, _reassurance(found), found)
    first, small = differ[0], runs.is_small(differ)
    if small and runs.compiled and not runs.in_float64:
        why = "this may be rounding, because compiled code adds up in its own order"
        return Compared(UNDECIDED, f"{_largest(differ)}; {why}", found, first)
    rounded = all(each.only_rounded for each in differ)
    if small and rounded:
        return Compared(SAME, _reassurance(found), found)
    if runs.compiled:  # so much is no rounding, but a fault that float64 does not have
        rounded = rounded and first.apart < first.size / 10
    cause, rows = runs.parting(first, rounded)
    numbers = in_numbers(*(run.gradients[first.name] for run in runs.once))
    others = listed([each.name for each in differ[1:]], most=3)
    sentence = (
        f"{first.name} is the first parameter in backward whose gradient differs by more than "
        + (f"rounding; so do {others}" if others else "rounding, and the only one")
    )
    rows = [*rows, (first.name, f"{numbers}; {first}")]
    return Compared(DIFFER, sentence, found, first, cause, rows)


class Runs:
    """Two steps of one model, each run twice, and once in another precision, if that is possible.

    scale     how much larger rounding errors are in the steps than in the other precision
    relative  the usual rounding error of a gradient of step a, as a share of it
    doubles   both in float64, for compiled steps from a copy of the model that `copied` makes
    trouble   why there is no run of step a in another precision, or ""
    """

    def __init__(self, model, steps: tuple[Step, Step], copied: Callable | None = None):
        self.model, self.steps, self.trouble = model, steps, ""
        self.parameters = _parameters_of(model)
        wide = {p.dtype for p in self.parameters.values()} <= {torch.float64, torch.complex128}
        # A step in float64 is its own reference: errors in float32 say how large its errors are.
        self.precision, self.scale = (torch.float32, 2.0**-29) if wide else (torch.float64, 1.0)
        self.once, self.again = ([self.run(k) for k in (0, 1)] for _ in range(2))
        self.compiled = any(run.compiled for run in self.once)
        pairs = zip(NAMES, self.once, self.again, strict=True)
        moving = [name for name, a, b in pairs if _apart(a, b) > UNSTEADY * _apart(a)]
        self.unsteady = moving[0] if moving else ""
        # What an unsteady step keeps from run to run would now be float64.
        self.exact = [None if self.unsteady else self._exactly(k) for k in (0, 1)]
        self.doubles = self._of_copy(copied) if copied else self.exact
        sizes = {name: distance(g)[0] for name, g in self.once[0].gradients.items()}
        errors = [self._error(name)[0] / size for name, size in sizes.items() if size]
        self.relative = float(median(errors)) if errors else 0.0

    def run(self, k):
        return _run(self.steps[k], NAMES[k], self.model)

    def _exactly(self, k):
        if self.once[k].compiled:  # it would run eagerly
            return None
        try:
            with put_back(self.model), in_precision(self.model, self.precision) as copies:
                parameters = {name: copies[id(p)] for name, p in self.parameters.items()}
                run = Run(self.steps[k], NAMES[k], parameters, self.model)
            if {*map(id, run.backward.leaves)} & copies.keys():
                raise ValueError("a Function gets a parameter that is not taken from its module")
            return run
        except Exception as error:  # an operation that this dtype does not have
            why = f"{NAMES[k]} does not run in {self.precision}: {first_line(error)}"
            self.trouble = self.trouble or why
            return None

    def _of_copy(self, copied):
        try:
            model, steps = copied()
            return [_run(step, name, model) for step, name in zip(steps, NAMES, strict=True)]
        except Exception:
            return [None, None]

    def _error(self, name):
        if self.exact[0] is None:
            return torch.zeros(2)
        return self.scale * distance(*(r[0].gradients[name] for r in (self.once, self.exact)))

    def differences(self):
        """Of each parameter, in the order in which backward reaches them."""
        names = dict.fromkeys(name for run in self.once for name in run.gradients)
        return [self._difference(name) for name in names]

    def _difference(self, name):
        (a, b), again = ([run.gradients[name] for run in runs] for runs in (self.once, self.again))
        unsteady = distance(a, again[0]), distance(b, again[1])
        floor = torch.stack([*unsteady, rounding(a, self.relative), self._error(name)]).amax(0)
        apart, exact = distance(a, b), None
        differs = beyond(apart, floor)
        if self.in_float64:
            both = distance(*(run.gradients[name] for run in self.doubles))
            exact, differs = float(both[0]), differs or beyond(both, rounding(a, 0.0))
        norms = (float(each[0]) for each in (distance(a), apart, floor))
        return ParameterDifference(name, *norms, differs and bool(apart[0]), exact)

    @property
    def in_float64(self) -> bool:
        """Are both known in a higher precision than their own?"""
        return self.scale == 1.0 and None not in self.doubles

    def is_small(self, differ):
        """Is it less than half of the digits of all gradients?"""
        digits = max(torch.finfo(p.dtype).eps ** 0.5 for p in self.parameters.values())
        return math.hypot(*(d.apart for d in differ)) <= digits * _apart(self.once[0])

    def parting(self, first, rounded):
        """Why they part on the way to this parameter, and rows about it."""
        reason, rows = "", []
        if not self.compiled:
            # In float64 it shows best where they part: rounding hides nothing.
            exactly = self.in_float64 and not rounded
            relative = self.relative * (2.0**-29 if exactly else 1.0)
            runs = self.exact if exactly else self.once
            reason, rows = where_they_part(*runs, relative, first.name)
        cause = "operations" if reason else ""
        if rounded:
            cause, reason = "rounding", ROUNDING
        else:
            with moved(self.model):
                a, b = (self.run(k).gradients[first.name] for k in (0, 1))
            if distance(a, b)[0] < first.apart / 100:
                cause, reason = "kink", KINK
        return cause, [("cause", reason), *rows] if reason else rows

    def why_undecided(self, found, differ):
        """Why it cannot be told whether the gradients are the same, or ""."""
        if self.unsteady:
            return (
                f"{self.unsteady} gives other gradients each time: it takes another batch, keeps "
                "something from run to run, or draws random numbers that compare cannot put back. "
                "Let both steps use one batch"
            )
        if differ and self.compiled and not torch.equal(*(run.drawn for run in self.once)):
            return (
                "the compiled step draws other random numbers, for dropout for example, so the "
                "gradients differ in any case. Compare in eval mode, or with torch.compile(..., "
                "options={'fallback_random': True})"
            )
        if differ and self.exact[0] is None:
            why = f"how much of it is rounding is not known, because {self.trouble}"
            return f"{_largest(differ)}; {why}"
        errors, size = math.hypot(*(each.floor for each in found)), _apart(self.once[0])
        if not differ and errors > size / 10 and any(each.apart for each in found):
            return "rounding errors hide what differs: they are more than a tenth of the gradients"
        return ""


def _run(step, name, model):
    with put_back(model):
        return Run(step, name, _parameters_of(model), model)


def _apart(run, other=None):
    """How far all gradients of two runs are apart; of one run, how large they are."""
    pairs = ((g, other and other.gradients[name]) for name, g in run.gradients.items())
    return math.hypot(*(float(distance(*pair)[0]) for pair in pairs))


def _parameters_of(model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"model has to be an nn.Module, got {type(model).__name__}")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("the model has no parameter that requires a gradient")
    for name, parameter in parameters.items():
        if is_spread(parameter) or parameter.is_meta:
            raise ValueError(f"the numbers of {name} are not in this process")
    return parameters


def _largest(found):
    """The largest difference in words, of those that are more than rounding errors."""
    meant = [each for each in found if each.floor <= each.size / 2] or found
    one = max(meant, key=lambda each: each.apart / (each.size or 1.0))
    return f"the largest difference is that of {one.name}: {one}"


def _reassurance(found):
    """One sentence on gradients that are the same, with the figures."""
    count = f"the gradients of all {len(found)} parameters are the same"
    if not any(each.apart for each in found):
        return f"{count}, bit for bit"
    return f"{count} up to rounding; {_largest(found)}"
