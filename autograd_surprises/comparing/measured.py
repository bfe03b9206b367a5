"""The runs of two steps, and for each parameter how far apart their gradients are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median

import torch
from torch import nn

from autograd_surprises.comparing.compared import ParameterDifference
from autograd_surprises.comparing.distance import (
    difference,
    distance,
    last_digit,
    size,
    together,
)
from autograd_surprises.comparing.model_state import ModelState
from autograd_surprises.comparing.one_step import Step, StepRun, first_line, run_step
from autograd_surprises.comparing.other_precision import in_precision

UNSTEADY = 0.01  # of all gradients


@dataclass
class Runs:
    """Two steps of one model, each run twice, and once more in another precision.

    model, parameters  whose gradients are compared
    state    of the model and the random generators, put back before and after each run
    scale    how much larger rounding errors are in the steps than in the other precision's distance
    unsteady  the name of a step that is not the same twice, or ""
    trouble  why there is no run in another precision, or ""

    >>> w = nn.Linear(2, 1, bias=False)
    >>> steps = (lambda: w.weight.sum(), lambda: 2 * w.weight.sum())
    >>> [each.differs for each in Runs(w, dict(w.named_parameters()), *steps).differences()]
    [True]
    """

    model: nn.Module
    parameters: Mapping[str, nn.Parameter]
    step_a: Step
    step_b: Step

    def __post_init__(self):
        self.state = ModelState(self.model)
        self.trouble = ""
        dtypes = {p.dtype for p in self.parameters.values()}
        in_float64 = dtypes <= {torch.float64, torch.complex128}
        # A step in float64 is its own reference: errors in float32 say how large its errors are.
        self.precision = torch.float32 if in_float64 else torch.float64
        self.scale = 2.0**-29 if in_float64 else 1.0
        self.a, self.b = (
            self.do(run_step, self.step_a, "step_a"),
            self.do(run_step, self.step_b, "step_b"),
        )
        self.again = (
            self.do(run_step, self.step_a, "step_a"),
            self.do(run_step, self.step_b, "step_b"),
        )
        self.unsteady = self._unsteady()
        self.exact_a = self.exact_b = None
        if not self.unsteady:  # else what it keeps from run to run would now be float64
            self.exact_a = self._exactly(self.step_a, "step_a")
            self.exact_b = self._exactly(self.step_b, "step_b")

    def do(self, action: Callable, *given, exactly: bool = False):
        """action(*given, parameters), perhaps in the other precision; the state is put back."""
        try:
            if not exactly:
                return action(*given, self.parameters)
            with in_precision(self.model, self.precision) as copies:
                return action(*given, {name: copies[id(p)] for name, p in self.parameters.items()})
        finally:
            self.state.put_back()

    def _exactly(self, step, name) -> StepRun | None:
        try:
            ids = {id(parameter) for parameter in self.parameters.values()}
            return self.do(partial(run_step, replaced=ids), step, name, exactly=True)
        except Exception as error:  # an operation that this dtype does not have
            why = f"{name} does not run in {self.precision}: {first_line(error)}"
            self.trouble = self.trouble or why
            return None

    def _unsteady(self) -> str:
        """The step whose gradients are others each time, by more than what atomic sums make."""
        whole = together(size(gradient) for gradient in self.a.gradients.values())
        runs = zip(("step_a", "step_b"), (self.a, self.b), self.again, strict=True)
        for name, once, again in runs:
            pairs = [(gradient, again.gradients[each]) for each, gradient in once.gradients.items()]
            if together(distance(*pair) for pair in pairs) > UNSTEADY * whole:
                return name
        return ""

    @cached_property
    def relative_error(self) -> float:
        """The usual one of a gradient of step a, if there is a run in float64."""
        if self.exact_a is None:
            return 0.0
        errors = [
            distance(gradient, self.exact_a.gradients[name]).norm * self.scale / size(gradient).norm
            for name, gradient in self.a.gradients.items()
            if size(gradient).norm
        ]
        return median(errors) if errors else 0.0

    def differences(self) -> list[ParameterDifference]:
        """Of each parameter, in the order in which backward reaches them."""
        return [self._difference(name) for name in {**self.a.gradients, **self.b.gradients}]

    @property
    def draw_differently(self) -> bool:
        """Do the random generators end in other states?"""
        pairs = zip(self.a.drawn, self.b.drawn, strict=True)
        return not all(torch.equal(*pair) for pair in pairs)

    @property
    def losses_differ(self) -> bool:
        """By more than rounding?"""
        losses = [each.loss for each in (self.a, self.b, *self.again)]
        exact = self.exact_a and self.exact_a.loss
        return distance(*losses[:2]).beyond(self._floor(*losses, exact))

    def _difference(self, name):
        a, b, again_a, again_b = (each.gradients[name] for each in (self.a, self.b, *self.again))
        exact = [each and each.gradients[name] for each in (self.exact_a, self.exact_b)]
        floor = self._floor(a, b, again_a, again_b, exact[0])
        in_float64 = self.exact_a is not None and self.scale == 1.0
        errors = [distance(each, exact[0]) if in_float64 else None for each in (a, b)]
        both = in_float64 and self.exact_b is not None
        place, numbers = largest_difference(a, b)
        return ParameterDifference(
            name, size(a), distance(a, b), floor, last_digit(a), *errors,
            distance(*exact) if both else None, place, *numbers,
        )  # fmt: skip

    def _floor(self, a, b, again_a, again_b, exact):
        """How far apart rounding, and steps that are not the same twice, may put a and b."""
        unsteady = distance(a, again_a), distance(b, again_b)
        floor = last_digit(a).or_larger(*unsteady, size(a) * self.relative_error)
        if self.exact_a is None:
            return floor
        return floor.or_larger(distance(a, exact) * self.scale)


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
