"""Faults in one corner only: at a float beside a kink, under autocast, in the memory kept."""

import faulty
import pytest
import torch
from faulty import NESTED, identity

from autograd_surprises.report_card import report_card

WRONG = "silently wrong"


@pytest.mark.parametrize(
    "name, says",
    [
        ("Square", "keeps the input"),
        ("KeepsTooMuch", "keeps the input and 8 bytes more for each number; the input alone"),
        ("SavesAnIntermediate", "keeps 4 bytes more for each number; the input alone would do"),
        ("MasksByMultiplying", "keeps the input; a bool mask of 1 byte would do"),
        ("WritesIntoItsInput", "keeps 1 byte more for each number"),
        ("RoundStraightThrough", "keeps nothing"),
    ],
)
def test_memory_is_told_and_is_no_failure(name, says):
    row = report_card(getattr(faulty, name).apply, torch.linspace(-2, 2, 9))["memory"]
    assert row.status == "works"
    assert row.message.startswith(says)


def test_an_input_that_is_not_differentiated_is_an_input_too():
    x = torch.linspace(-2, 2, 9)
    row = report_card(lambda x, mask: x * mask, x.requires_grad_(), torch.ones(9))["memory"]
    assert row.message == "keeps the input"


def test_a_surrogate_gradient_is_asked_for_its_proxy():
    x = torch.linspace(-2, 2, 9)
    row = report_card(faulty.RoundStraightThrough.apply, x)["slope"]
    assert (row.status, row.expected) == (WRONG, "0")
    assert "pass like=" in row.remedy
    assert report_card(faulty.RoundStraightThrough.apply, x, like=identity).passed


@pytest.mark.parametrize(
    "dtype, place", [(torch.float64, "1.0000000000000002"), (torch.float32, "1.0000001")]
)
def test_a_boundary_one_float_off_is_seen(dtype, place):
    def hardtanh(x):
        limit = 1 + (torch.finfo(dtype).eps if x.dtype == dtype else 0)
        return torch.where(x.abs() <= limit, x, x.sign())

    row = report_card(hardtanh, torch.linspace(-2, 2, 9), like=torch.nn.Hardtanh())["slope"]
    assert (row.status, row.expected) == (WRONG, "0")
    assert "only at kinks" in row.message and f"x = {place}," in row.message
    assert ("(float32)" in row.message) == (dtype == torch.float32)


def test_a_boundary_a_little_off_is_seen_without_like_too():
    class LittleOff(faulty.MasksByMultiplying):
        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return torch.where(x > -1e-6, grad_output, 0)

    row = report_card(LittleOff.apply, torch.linspace(-2, 2, 9))["slope"]
    assert (row.status, row.expected) == (WRONG, "0")
    assert row.message.startswith("only at kinks, at x = -")


@pytest.mark.parametrize("like", [None, torch.square])
@pytest.mark.parametrize("inputs", [(), (torch.tensor(0.5),)])
def test_a_slope_that_is_wrong_by_a_thousandth_is_seen(like, inputs):
    class Thousandth(faulty.Square):
        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 2.002 * x * grad_output

    def scaled(x, scale=1.0):
        return Thousandth.apply(x) * scale

    scaled_like = like and (lambda x, scale=1.0: like(x) * scale)
    card = report_card(scaled, torch.linspace(-2, 2, 9), *inputs, like=scaled_like)
    assert card["slope"].status == WRONG


def test_a_fault_beside_the_numbers_of_the_example_is_seen():
    def staircase(x, scale):
        return faulty.RoundStraightThrough.apply(x) * scale

    row = report_card(staircase, torch.tensor([0.5, 1.5, 2.5]), torch.tensor(0.5))["slope"]
    assert (row.status, row.expected) == (WRONG, "0")


def test_a_fault_at_a_number_of_the_example_is_seen():
    def scaled(x, scale):
        return faulty.WrongAtItsKink.apply(x) * scale

    row = report_card(scaled, torch.linspace(-2, 2, 9), torch.tensor(0.5))["slope"]
    assert (row.status, row.message) == (WRONG, "at input 0[4]")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_gives_leaves_and_results_of_a_matmul(dtype):
    class WrongUnderAutocast(faulty.Square):
        @staticmethod
        def setup_context(ctx, inputs, output):
            faulty.Square.setup_context(ctx, inputs, output)
            ctx.wrong = torch.is_autocast_enabled("cpu") and inputs[0].dtype == dtype

        @staticmethod
        def backward(ctx, grad_output):
            grad = faulty.Square.backward(ctx, grad_output)
            return 2 * grad if ctx.wrong else grad

    card = report_card(WrongUnderAutocast.apply, torch.linspace(-2, 2, 9))
    assert [row.name for row in card.rows if not row.fine] == [NESTED, "autocast"]
    assert ("of a bfloat16 input" in card["autocast"].message) == (dtype == torch.bfloat16)


def test_a_dtype_that_is_refused_is_blamed_where_it_is_needed():
    def no_bfloat16(x):
        if x.dtype == torch.bfloat16:
            raise TypeError("no bfloat16")
        return x * x

    card = report_card(no_bfloat16, torch.linspace(-2, 2, 9))
    assert [row.name for row in card.rows if not row.fine] == ["autocast", "bfloat16"]


@pytest.mark.parametrize(
    "transform, row",
    [("vmap", "vmap"), ("grad", "vmap(grad)"), ("jacrev", "jacrev"), ("jvp", "jvp"),
     ("jacfwd", "jacfwd"), ("hessian", "hessian")],
)  # fmt: skip
def test_a_transform_is_compared_with_plain_backward(monkeypatch, transform, row):
    right = getattr(torch.func, transform)

    def twice(result):
        return tuple(map(twice, result)) if isinstance(result, tuple) else 2 * result

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        return (lambda *tensors: twice(result(*tensors))) if callable(result) else twice(result)

    monkeypatch.setattr(torch.func, transform, wrong)
    assert report_card(faulty.Square.apply, torch.linspace(-2, 2, 9))[row].status == WRONG


def test_a_right_jvp_is_not_blamed_for_a_wrong_backward_in_float64_either():
    card = report_card(faulty.SlopeOfAnother.apply, torch.linspace(-2, 2, 9).double())
    assert (card["slope"].status, card["jvp"].status) == (WRONG, "works")


@pytest.mark.parametrize("like", [None, torch.relu])
def test_a_mask_by_a_product_is_seen_without_a_function_too(like):
    row = report_card(lambda x: x * (x > 0), torch.linspace(-2, 2, 9), like=like)["inf upstream"]
    assert (row.status, row.yours, row.expected) == (WRONG, "nan", "0")


def test_a_gradient_of_another_dtype_is_told_and_is_no_failure():
    class Float64(faulty.Square):
        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 2 * x * grad_output.double()

    row = report_card(Float64.apply, torch.linspace(-2, 2, 9))["gradient shape and dtype"]
    assert row.status == "works" and "float64 for float32" in row.message


def test_a_gradient_that_autograd_sums_rightly_is_told_and_is_no_failure():
    class Shifted(faulty.NoGradientForAnInput):
        @staticmethod
        def backward(ctx, grad_output):
            x, weight = ctx.saved_tensors
            return grad_output * weight, grad_output * x

    card = report_card(Shifted.apply, torch.linspace(-2, 2, 9), torch.tensor(3.0))
    row = card["gradient shape and dtype"]
    assert (row.status, card["slope"].status) == ("works", "works")
    assert "input 1" in row.message and "shape (9,)" in row.message


def test_a_value_that_is_the_same_at_all_large_numbers_stays_the_same():
    def sign(x):  # wrong in float64, too
        return x / x.abs().clamp(1e-3, 1e20)

    row = report_card(sign, torch.linspace(-2, 2, 9))["large x"]
    assert (row.status, row.yours, row.expected) == (WRONG, "1e+10", "1")
    assert "1e+30 (float32)" in row.message


def test_a_gradient_that_ends_at_a_thousand_is_seen_with_like():
    def ending(x):
        return torch.where(x.abs() < 1000, x, x.detach())

    card = report_card(ending, torch.linspace(-2, 2, 9), like=identity)
    assert [row.name for row in card.rows if not row.fine] == ["large x"]
    assert "gradient at x = 10000 (float32)" in card["large x"].message


def test_the_detach_trick_is_seen_in_bfloat16_where_float64_is_right():
    def fake(x):  # 300 is its own bfloat16, 299 is not
        return x + (x.clamp(-1, 1) - x).detach() if x.dtype == torch.bfloat16 else x.clamp(-1, 1)

    row = report_card(fake, torch.linspace(-2, 2, 9))["large x"]
    assert (row.status, row.expected) == (WRONG, "1")
    assert "(bfloat16)" in row.message


class NanAtInfinity(faulty.RoundStraightThrough):
    setup_context = staticmethod(faulty.Square.setup_context)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.isinf(), torch.nan, grad_output)


class SmallAndWrongInFloat16(faulty.Square):
    @staticmethod
    def forward(x):
        return 1e-3 * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (4e-3 if x.dtype == torch.float16 else 2e-3) * x * grad_output


class ValueWrongInShape(faulty.Square):
    @staticmethod
    def forward(x):
        return x * x + (x.dim() == 0)


class GradientWrongInShape(faulty.Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 + (x.dim() == 0)) * x * grad_output


class ValueWrongWithGaps(faulty.Square):
    @staticmethod
    def forward(x):
        return x * x + (not x.is_contiguous())


@pytest.mark.parametrize(
    "function, row, like",
    [
        (NanAtInfinity, "inf, NaN and -0", identity),
        (SmallAndWrongInFloat16, "float16", None),
        (ValueWrongInShape, "0-d", None),
        (GradientWrongInShape, "0-d", None),
        (ValueWrongWithGaps, "non-contiguous", None),
    ],
)
def test_a_fault_in_one_corner_is_seen_there(function, row, like):
    card = report_card(function.apply, torch.linspace(-2, 2, 9), like=like)
    assert card[row].status == WRONG


def test_an_identity_that_keeps_its_input_keeps_too_much():
    class KeepsForNothing(faulty.RoundStraightThrough):
        setup_context = staticmethod(faulty.Square.setup_context)

    row = report_card(KeepsForNothing.apply, torch.linspace(-2, 2, 9), like=identity)["memory"]
    assert "keeps the input; it needs nothing" in row.message
