"""What is right passes: torch's own operations, and Functions without a fault."""

import faulty
import pytest
import torch
import torch.nn.functional as F
from faulty import NESTED, of_saved

from autograd_surprises.report_card import report_card
from autograd_surprises.report_card.questions import COMPILED

x = torch.linspace(-2, 2, 9)
positive = torch.tensor([0.2, 0.4, 0.7, 1.3])
chance = torch.tensor([0.2, 0.5, 0.9])
generator = torch.Generator().manual_seed(0)
a, b = (torch.randn(3, 4, generator=generator) for _ in range(2))
weight, bias = torch.randn(2, 4, generator=generator), torch.randn(2, generator=generator)

OF_TORCH = [
    *("relu", "sigmoid", "tanh", "abs", "square", "sqrt", "log"),
    *("reciprocal", "exp", "tan", "round", "sign", "frac", "nan_to_num"),
]
OF_LAYERS = [
    *("hardtanh", "gelu", "silu", "softplus", "softsign", "leaky_relu"),
    *("elu", "hardswish", "relu6", "celu"),
]
ELEMENTWISE = {
    **{name: getattr(torch, name) for name in OF_TORCH},
    **{name: getattr(F, name) for name in OF_LAYERS},
    "sin of 3 x": lambda x: torch.sin(3 * x),
    "remainder": lambda x: x % 0.7,
    "clamp": lambda x: x.clamp(-1, 1),
    "kink at a third": lambda x: (x * 3).clamp(-1, 1),
    "rounding at the kink": lambda x: (x / 0.3).clamp(-10, 10) * 0.3,
    "steep": lambda x: torch.sigmoid(25 * x),
    "jump": lambda x: torch.where(x > 0.25, x * x, -x),
    "identity": lambda x: x,
    "square with a bend in its slope": lambda x: x.clamp(-1, 1) * (2 - x.clamp(-1, 1).abs()),
    "straight, then a logarithm": lambda x: torch.where(x > 1, 1 + x.clamp(min=1).log(), x),
    "quartic": lambda x: x**4,
    "steep far out": lambda x: torch.sigmoid(25 * (x - 8)),
    "in place": lambda x: x.relu_(),
}
OTHERS = {
    "matmul": (torch.matmul, a, b.T),
    "linear": (F.linear, a, weight, bias),
    "softmax": (lambda x: F.softmax(x, -1), a),
    "softmax of a vector": (lambda x: F.softmax(x, -1), x),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), a),
    "sum": (torch.sum, a),
    "amax": (lambda x: x.amax(1), a),
    "sort": (lambda x: x.sort().values, x),
    "maximum": (torch.maximum, a, b),
    "broadcast": (torch.mul, a, torch.tensor(0.7)),
    "transpose": (lambda x: x.T, a),
    "flatten": (lambda x: x.reshape(-1), a),
    "expand": (lambda x: x.expand(2, 9), x),
    "cross_entropy": (F.cross_entropy, a, torch.tensor([0, 3, 1])),
    "binary_cross_entropy": (F.binary_cross_entropy, chance, torch.tensor([0.0, 1.0, 1.0])),
    "relu of nothing but zeros": (lambda x, w: torch.relu(x @ w), torch.zeros(2, 4), weight.T),
    "conv1d": (F.conv1d, a[None, :2], weight.reshape(2, 2, 2)),
}
each = pytest.mark.parametrize


def require_passed(card, but=()):
    assert {row.name for row in card.rows if not row.fine} == set(but), str(card)


@pytest.mark.slow
@each("name", ELEMENTWISE)
def test_elementwise(name):
    require_passed(report_card(ELEMENTWISE[name], x))


@pytest.mark.slow
@each("name", OTHERS)
def test_not_elementwise(name):
    function, *inputs = OTHERS[name]
    if name == "binary_cross_entropy":
        inputs[0].requires_grad_()
    card = report_card(function, *inputs)
    require_passed(card, but={NESTED} if name == "layer_norm" else ())
    assert {card[row].status for row in ("empty", "0-d", "large x")} == {"not applicable"}


@pytest.mark.slow
@each("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_examples_of_other_dtypes(dtype):
    require_passed(report_card(torch.sigmoid, x.to(dtype)))
    require_passed(report_card(torch.matmul, a.to(dtype), b.T.to(dtype)))


@each("example", [torch.tensor(0.5), torch.tensor([-1e4, 1e4]), torch.randn(200, 500)])
def test_examples_of_other_sizes(example):
    require_passed(report_card(torch.relu, example))


class Relu(faulty.MasksByMultiplying):
    """The gradient at 0 is 1, which is as right as the 0 of torch.relu."""

    backward = of_saved(lambda x, g: torch.where(x >= 0, g, 0))


@each("flush", [False, True])
def test_another_choice_at_a_kink_is_right(flush):
    if not torch.set_flush_denormal(flush):
        pytest.skip("this processor cannot take the numbers beside 0 for 0")
    try:
        require_passed(report_card(Relu.apply, x, like=torch.relu))
        scaled = (lambda x, s: Relu.apply(x) * s), x, torch.tensor(0.5)
        require_passed(report_card(*scaled, like=lambda x, s: torch.relu(x) * s))
        require_passed(report_card(*scaled))
    finally:
        torch.set_flush_denormal(False)


def test_a_domain_that_is_left_is_not_judged():
    def checked_log(x):
        if not ((x >= 0.2) & (x <= 1.3)).all():
            raise ValueError("outside")
        return torch.log(x)

    card = report_card(checked_log, positive)
    bad = {row.name for row in card.rows if not row.fine}
    # an `if` on numbers, and a check of the numbers of a tensor that has none
    assert bad <= {"vmap", "vmap(grad)", "hessian"}, str(card)
    assert card["slope"].status == "works"
    assert "from -12 to 12" in card["large x"].message


def test_a_domain_that_a_finite_difference_leaves_is_not_judged():
    def square_of_probability(p, scale):
        if p.max() > 1:
            raise ValueError("no probability")
        return p * p * scale

    card = report_card(square_of_probability, torch.tensor([0.5, 1.0]), torch.tensor(0.5))
    assert card["slope"].status == "works"


@each("name", ["Square", "RoundStraightThrough"])
def test_a_right_function(name):
    like = {"RoundStraightThrough": lambda x: x}.get(name)
    card = report_card(getattr(faulty, name).apply, x, like=like)
    require_passed(card, but={NESTED} if name == "Square" else ())


def test_a_right_function_with_an_input_that_is_no_tensor():
    require_passed(report_card(faulty.Scale.apply, x, 3.0), but={NESTED})


def learned_step_size(x, step):
    """LSQ, https://arxiv.org/abs/1902.08153, by a straight-through estimator inside."""
    q = (x / step).clamp(-4, 3)
    return (q + (q.round() - q).detach()) * step


def gradient_of_learned_step_size(x, step):
    q = x / step
    inside = (q >= -4) & (q <= 3)
    q_bar = q.round().clamp(-4, 3)
    return x * inside + step * torch.where(inside, q_bar - q, q_bar).detach()


def test_a_straight_through_estimator_inside_may_replace_both_gradients():
    example = (x, torch.tensor(0.3))
    card = report_card(learned_step_size, *example, like=gradient_of_learned_step_size)
    require_passed(card)
    assert "is that of like" in card["double backward"].message


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_compiled():
    card = report_card(torch.matmul, a, b.T, compile=True)
    require_passed(card)
    assert {card[name].status for name in COMPILED} == {"works"}


def test_a_gradient_is_not_judged_where_there_is_no_value():
    class SafeLog(faulty.Square):
        """As in pyro: the slope is bounded by a number that each dtype has its own of."""

        forward = staticmethod(lambda x: x.log())
        backward = jvp = of_saved(lambda x, g: g / x.clamp(min=torch.finfo(x.dtype).eps))

    require_passed(report_card(SafeLog.apply, positive), but={NESTED})


@pytest.mark.slow
@each("kink", [1.0, 2.0, 0.75])
def test_a_second_gradient_is_not_judged_where_the_first_has_a_kink(kink):

    def bends(x):  # a slope of 1 up to the kink, and of kink / x beyond it
        return torch.where(x > kink, kink * (1 + (x / kink).clamp(min=1).log()), x)

    example = torch.tensor([-kink, kink, 3 * kink])
    require_passed(report_card(bends, example))
    require_passed(report_card(lambda x, scale: bends(x) * scale, torch.full((3,), kink), x[-1]))


def test_a_surrogate_in_float32_is_compared_with_like_in_float32_too():
    """Only its dtype is wrong: the numbers are those of like, to what float32 can hold."""

    class Spike(faulty.Square):
        forward = staticmethod(lambda x: (x > 0).float())
        backward = of_saved(lambda x, g: g / (1 + x * x))
        jvp = of_saved(lambda x, t: (t / (1 + x * x)).float())

    card = report_card(Spike.apply, x, like=torch.atan)
    require_passed(card, but={"output dtype", NESTED})
    assert card["double backward"].status == card["slope"].status == "works"
