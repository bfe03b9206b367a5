"""The runs of two steps, and for each parameter how far apart their gradients are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import torch
from torch import nn

from autograd_surprises.comparing.compared import ParameterDifference
from autograd_surprises.comparing.distance import (
    difference,
    distance,
    last_digit,
    rounding_floor,
    size,
    together,
)
from autograd_surprises.comparing.model_state import ModelState
from autograd_surprises.comparing.one_step import Step, StepRun, run_step
from autograd_surprises.comparing.other_precision import in_precision
from autograd_surprises.show.findings import first_line

NAMES = "step_a", "step_b"
UNSTEADY = 0.01  # of all gradients


@dataclass
class Runs:
    """One or two steps of one model, each run twice, and once more in another precision.

    model, parameters  whose gradients are compared
    steps    step a and step b; or one alone, for its rounding errors
    state    of the model and the random generators, put back before and after each run
    scale    how much larger rounding errors are in the steps than in the other precision's distance
    once, again  the two runs of each
    exact    each in the other precision; None where that is not possible
    unsteady  the name of a step that is not the same twice, or ""
    trouble  why there is no run in another precision, or ""

    >>> w = nn.Linear(2, 1, bias=False)
    >>> steps = (lambda: w.weight.sum(), lambda: 2 * w.weight.sum())
    >>> [each.differs for each in Runs(w, dict(w.named_parameters()), steps).differences()]
    [True]
    """

    model: nn.Module
    parameters: Mapping[str, nn.Parameter]
    steps: Sequence[Step]

    def __post_init__(self):
        self.state = ModelState(self.model)
        self.trouble = ""
        dtypes = {p.dtype for p in self.parameters.values()}
        in_float64 = dtypes <= {torch.float64, torch.complex128}
        # A step in float64 is its own reference: errors in float32 say how large its errors are.
        self.precision = torch.float32 if in_float64 else torch.float64
        self.scale = 2.0**-29 if in_float64 else 1.0
        every = range(len(self.steps))
        self.once, self.again = ([self.do(run_step, k) for k in every] for _ in range(2))
        self.unsteady = self._unsteady()
        self.exact: list[StepRun | None] = [None for _ in every]
        if not self.unsteady:  # else what it keeps from run to run would now be float64
            self.exact = [self._exactly(k) for k in every]

    def do(self, action: Callable, k: int, *given, exactly: bool = False):
        """action(step, its name, parameters, *given), perhaps in the other precision.

        The state is put back.
        """
        step = self.steps[k], NAMES[k]
        try:
            if not exactly:
                return action(*step, self.parameters, *given)
            with in_precision(self.model, self.precision) as copies:
                parameters = {name: copies[id(p)] for name, p in self.parameters.items()}
                return action(*step, parameters, *given)
        finally:
            self.state.put_back()

    def _exactly(self, k) -> StepRun | None:
        try:
            ids = {id(parameter) for parameter in self.parameters.values()}
            return self.do(run_step, k, ids, exactly=True)
        except Exception as error:  # an operation that this dtype does not have
            why = f"{NAMES[k]} does not run in {self.precision}: {first_line(error)}"
            self.trouble = self.trouble or why
            return None

    def _unsteady(self) -> str:
        """The step whose gradients are others each time, by more than what atomic sums make."""
        whole = together(map(size, self.once[0].gradients.values()))
        for name, once, again in zip(NAMES, self.once, self.again, strict=False):
            pairs = [(once.gradients[each], again.gradients[each]) for each in self.parameters]
            if together(distance(*pair) for pair in pairs) > UNSTEADY * whole:
                return name
        return ""

    @property
    def in_float64(self) -> bool:
        """Are both known in a higher precision than their own?"""
        return self.scale == 1.0 and None not in self.exact

    @cached_property
    def relative_error(self) -> float:
        """The usual one of a gradient of step a, if there is a run in float64."""
        if self.exact[0] is None:
            return 0.0
        exact = self.exact[0].gradients
        errors = [
            distance(gradient, exact[name]).norm * self.scale / size(gradient).norm
            for name, gradient in self.once[0].gradients.items()
            if size(gradient).norm
        ]
        return median(errors) if errors else 0.0

    def differences(self) -> list[ParameterDifference]:
        """Of each parameter, in the order in which backward reaches them."""
        names = dict.fromkeys(name for run in self.once for name in run.gradients)
        return [self._difference(name) for name in names]

    @property
    def losses_differ(self) -> bool:
        """By more than rounding?"""
        apart, floor = self._apart_and_floor(lambda run: run.loss)
        return apart.beyond(floor)

    def _difference(self, name):
        def part(run):
            return run.gradients[name]

        a, errors, both = part(self.once[0]), [None, None], None
        if self.scale == 1.0 and self.exact[0] is not None:
            errors = [distance(part(run), part(self.exact[0])) for run in self.once]
        if self.in_float64:
            both = distance(part(self.exact[0]), part(self.exact[-1]))
        return ParameterDifference(
            name, size(a), *self._apart_and_floor(part), last_digit(a), errors[0], errors[-1], both
        )

    def _apart_and_floor(self, part):
        """How far a and b are apart, and how far rounding, and unsteady steps, may put them."""
        once = [part(run) for run in self.once]
        unsteady = map(distance, once, map(part, self.again))
        floor = rounding_floor(once[0], self.relative_error).or_larger(*unsteady)
        if self.exact[0] is not None:
            floor = floor.or_larger(distance(once[0], part(self.exact[0])) * self.scale)
        return distance(once[0], once[-1]), floor


def largest_difference(a, b):
    """Where it is, and both numbers there; None where there is no gradient.

    >>> largest_difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    ((1,), (2.0, 5.0))
    """
    apart = difference(a, b)
    if apart is None or not apart.numel():
        return (), (None, None)
    place = torch.unravel_index(apart.abs().nan_to_num(torch.inf).argmax(), apart.shape)
    place = tuple(int(i) for i in place)
    return place, tuple(None if g is None else _number(g[place]) for g in (a, b))


def _number(element):
    return element.abs().item() if element.is_complex() else element.item()
