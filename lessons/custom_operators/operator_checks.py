"""What opcheck and gradcheck say of an operator whose registrations may be wrong."""

import itertools
import warnings

import torch
from torch.autograd import gradcheck
from torch.library import custom_op, opcheck

from autograd_surprises.numerics import short_number
from autograd_surprises.report_card.operators import TESTS
from autograd_surprises.show.colours import GRADIENT_COLOUR, GREEN, RED, SLOPE_COLOUR
from helpers.curves.axes import DASHED
from lessons.drawings.panel import PanelDrawing

FAKES = {
    "as it returns": torch.empty_like,
    "another dtype": lambda x: torch.empty_like(x, dtype=torch.float16),
}
WRITES = {"nothing": lambda x: x * x, "its input": lambda x: x.mul_(2) * x / 4}
CHECKS = {**TESTS, "gradcheck": None}


def _operator(k, fake, forward):
    """An operator for x². Its backward multiplies by `factor` and x."""

    def computed(x: torch.Tensor, factor: float) -> torch.Tensor:
        return forward(x)

    def save(ctx, inputs, output):
        ctx.factor = inputs[1]
        ctx.save_for_backward(inputs[0].clone())

    made = custom_op(f"lessons::checked_{k}", computed, mutates_args=())
    made.register_fake(lambda x, factor: fake(x))
    made.register_autograd(
        lambda ctx, gradient: (ctx.factor * ctx.saved_tensors[0] * gradient, None),
        setup_context=save,
    )
    return made


OPERATORS = {
    choice: _operator(k, FAKES[choice[0]], WRITES[choice[1]])
    for k, choice in enumerate(itertools.product(FAKES, WRITES))
}
POINTS = torch.tensor([-1.5, 0.5, 1.0], dtype=torch.float64)


class OperatorChecksDrawing(PanelDrawing):
    """The gradient of an operator that computes x², and which checks pass.

    factor  what its backward multiplies by x and the upstream gradient; 2 is right

    >>> OperatorChecksDrawing().show(factor=4.0)
    'the gradient is 4x, the slope 2x; 4 of 4 of opcheck pass, gradcheck fails'
    """

    name, joint = "Which checks notice?", " · "

    def __init__(self):
        left, right = self.panels(8, 3.4, "", "", width_ratios=(1, 1.1))
        left.set(xlabel="x", xlim=(-2, 2), ylim=(-8, 8))
        self._x = torch.linspace(-2, 2, 41)
        self._line = self.line(left, GRADIENT_COLOUR, gid="gradient")
        slope = self.line(left, SLOPE_COLOUR, ls=DASHED, gid="slope")  # above: where both are equal
        slope.set_data(self._x, 2 * self._x)
        right.set(xlim=(0, 1), ylim=(len(CHECKS) - 0.5, -0.5))
        right.set_axis_off()
        look = {"ha": "left", "fontsize": 11}
        self._verdicts = [self.words(right, 0.06, y, **look) for y in range(len(CHECKS))]
        self.legend({"gradient": self._line, "slope of x²": slope})

    def show(self, factor=2.0, fake="as it returns", writes="nothing"):
        made = OPERATORS[fake, writes]
        x = self._x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(made(x * 1, factor).sum(), x)
        self._line.set_data(self._x, gradient)
        passed = [_passes(made, factor, test) for test in CHECKS.values()]
        for text, name, fine in zip(self._verdicts, CHECKS, passed, strict=True):
            text.set(text=f"{'✓' if fine else '✗'}  {name}", color=GREEN if fine else RED)
        slope = (gradient[-1] / x[-1]).item()
        says = f"the gradient is {short_number(slope, 3)}x, the slope 2x"
        verdict = "passes" if passed[-1] else "fails"
        return f"{says}; {sum(passed[:-1])} of 4 of opcheck pass, gradcheck {verdict}"


def _passes(operator, factor, test):
    x = POINTS.clone().requires_grad_()
    if test is None:
        return gradcheck(lambda x: operator(x * 1, factor), x, raise_exception=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.15 warns of itself when it traces
        found = opcheck(operator, (x, factor), test_utils=test, raise_exception=False)
    return found[test] == "SUCCESS"
