"""Each fault is found by its own row with its own message, and by no row that it does not touch."""

from dataclasses import dataclass, field

import faulty
import pytest
import torch

from helpers.report_card import report_card

FIRST = "one gradient per input"
FORWARD_MODE = {"jvp", "jacfwd"}
SECOND = {"double backward", "gradgradcheck"}
FUNC = {"vmap", "vmap(grad)", "jacrev", "hessian"} | FORWARD_MODE


def identity(x):
    return x


@dataclass(frozen=True)
class Found:
    """What the report card has to say about one fault.

    row      that finds it, with `status`
    says     a part of its message
    remedy   a part of what to change
    also     the other rows that cannot work with this fault
    may      rows that work with this fault since a later version of torch
    """

    row: str
    status: str
    says: str
    remedy: str = ""
    also: set = field(default_factory=set)
    may: set = field(default_factory=set)
    inputs: tuple = ()
    like: object = None


WRONG, REFUSED = "silently wrong", "refused"
FAULTS = {
    "SlopeOfAnother": Found("slope", WRONG, "at x = 1.8, grad_output = 0.75", "pass like="),
    "ClampGradient": Found(
        "linear in grad_output", WRONG, "for grad_output = 0", "numbers of its own", {"slope"},
        may={"vmap(grad)"},  # indexing with a mask
    ),
    "IgnoresGradOutput": Found(
        "linear in grad_output", WRONG, "the same gradient for every", "multiply by", {"slope"}
    ),
    "NotLinear": Found(
        "linear in grad_output", WRONG, "for the sum 2.5·u - 1.5·v", "only multiply", {"slope"}
    ),
    "SavesItsOutput": Found(
        "double backward", WRONG, "at x = -1", "save the input or a bool mask",
        {"gradgradcheck", "hessian"}, like=faulty.like_saves_its_output,
    ),
    "SavesAnIntermediate": Found(
        "double backward", WRONG, "at x = -0.5", "takes for a constant",
        {"gradgradcheck", "hessian"},
    ),
    "DetachesInBackward": Found(
        "double backward", WRONG, "at x = -3", "backward cuts the graph",
        {"gradgradcheck", "hessian"},
    ),
    "OnceDifferentiable": Found(
        "double backward", REFUSED, "differentiate twice", "remove @once", {"gradgradcheck"}
    ),
    "WritesIntoGradOutput": Found(
        "grad_output untouched", WRONG, "number 0", "grad_output * 2", SECOND | {"non-contiguous"}
    ),
    "WritesIntoItsInput": Found("input untouched", WRONG, "at x = -3", "mark_dirty"),
    "KeepsItsInputOnCtx": Found(
        "in-place safety", WRONG, "input changed in place after the call", "save_for_backward"
    ),
    "KeepsItsOutputOnCtx": Found(
        "in-place safety", WRONG, "output changed in place after the call", "save_for_backward"
    ),
    "TooManyGradients": Found(FIRST, REFUSED, "(expected 1, got 2)", "forward has one"),
    "ForgetsNone": Found(FIRST, REFUSED, "(expected 2, got 1)", "and None for", inputs=(3.0,)),
    "GradientForANumber": Found(
        FIRST, REFUSED, "different than None at position 2", "return None at", inputs=(3.0,)
    ),
    "NoGradientForAnInput": Found(
        FIRST, WRONG, "input 1 of shape (9,) changes the value", "requires_grad_() on the others",
        {"slope"}, inputs=(torch.linspace(1, 3, 9),),
    ),
    "ReducesItsGradient": Found(FIRST, REFUSED, "invalid gradient at index 0", "do not reduce"),
    "BroadcastsItsGradient": Found(
        "gradient shape and dtype", WRONG, "autograd sums it to fit", "broadcast by accident",
        {"slope", "non-contiguous"},
    ),
    "NoJvp": Found(
        "jvp", REFUSED, "must implement the jvp", "write a staticmethod jvp",
        {"jacfwd", "hessian"},
    ),
    "JvpWrongByAFactor": Found(
        "jvp", WRONG, "at x = -3, tangent = -2.25", "backward by its transpose", {"jacfwd"}
    ),
    "OldStyle": Found(
        "vmap", REFUSED, "must override the setup_context", "split forward", FUNC - {"vmap"}
    ),
    "NoVmapRule": Found(
        "vmap", REFUSED, "does not have vmap support", "generate_vmap_rule = True",
        FUNC - {"vmap", "jacrev", "jvp"},
    ),
    "WrongVmap": Found("vmap", WRONG, "at x = -3"),
    "VmapOverTheFirstInput": Found(
        "vmap", WRONG, "its shape", inputs=(torch.linspace(1, 3, 9),)
    ),
    "AsksForANumber": Found(
        "vmap(grad)", REFUSED, "data-dependent control flow", "torch.where instead of if",
        {"jacrev", "hessian"},
    ),
    "WrongAtItsKink": Found("slope", WRONG, "only at kinks, at x = 0, grad_output = 0.75"),
    "WrongInFloat16": Found("float16", WRONG, "gradient at x = -3"),
    "ValueWrongInFloat16": Found("float16", WRONG, "at x = -3"),
    "AlwaysFloat32": Found(
        "float64", WRONG, "dtype of the output", "y.to(x.dtype)", {"bfloat16", "float16"}
    ),
    "OverflowsInBackward": Found("large x", WRONG, "gradient at x = 1e+30 (float32)"),
    "MasksByMultiplying": Found("inf upstream", WRONG, "grad_output = -inf", "torch.where(mask"),
    "RefusesEmpty": Found("empty", REFUSED, "ValueError: nothing to square"),
    "UsesView": Found("non-contiguous", REFUSED, "view size is not", "use reshape"),
    "AssumesContiguous": Found("non-contiguous", WRONG, "gradient at x = "),
    "detour": Found(
        "large x", WRONG, "at x = 1e+08 (float32)", "no detour", {"inf, NaN and -0"},
        like=identity,
    ),
    "square_root_of_square": Found(
        "slope", WRONG, "only at kinks, at x = 0, grad_output", "", {"large x"}
    ),
    "cut": Found(FIRST, REFUSED, "does not require grad", "something cuts the graph"),
}  # fmt: skip
each = pytest.mark.parametrize("name", FAULTS)


def card_of(name):
    function, found = getattr(faulty, name), FAULTS[name]
    example = torch.linspace(-2, 2, 9)
    return report_card(
        getattr(function, "apply", function), example, *found.inputs, like=found.like
    )


@pytest.fixture(scope="module")
def cards():
    return {name: card_of(name) for name in FAULTS}


@each
def test_its_row_finds_the_fault(name, cards):
    found, row = FAULTS[name], cards[name][FAULTS[name].row]
    assert row.status == found.status
    assert found.says in row.message
    assert found.remedy in row.remedy


NESTED = "jacfwd(jacfwd)"  # wrong for nearly every Function with a jvp, refused without


@each
def test_no_other_row_is_blamed(name, cards):
    bad = {row.name for row in cards[name].rows if not row.fine} - {NESTED}
    assert bad - FAULTS[name].may == {FAULTS[name].row} | FAULTS[name].also


@each
def test_what_is_silently_wrong_comes_with_numbers(name, cards):
    for row in cards[name].rows:
        assert bool(row.yours and row.expected) == (row.status == WRONG)
        assert row.yours != row.expected or not row.yours


def test_forward_mode_over_forward_mode_loses_what_a_jvp_depends_on(cards):
    """A bug of torch, and so of every Function whose jvp computes anything."""
    x = torch.linspace(-2, 2, 9)
    row = report_card(faulty.Square.apply, x)[NESTED]
    assert (row.status, row.yours) == ("silently wrong", "0")
    assert "spell it without a Function in forward mode" in row.remedy
    assert cards["NoJvp"][NESTED].status == "refused"
    handed_on = report_card(faulty.RoundStraightThrough.apply, x, like=identity)
    assert handed_on[NESTED].status == report_card(torch.square, x)[NESTED].status == "works"


def test_each_fault_has_a_message_of_its_own(cards):
    rows = [cards[name][found.row] for name, found in FAULTS.items()]
    stories = {(row.message, row.yours, row.remedy) for row in rows}
    assert len(stories) == len(FAULTS) >= 18


def test_every_fault_is_in_the_table():
    right = {"Square", "Scale", "RoundStraightThrough", "RoundWithoutJvp", "KeepsTooMuch"}
    classes = {name for name, thing in vars(faulty).items() if isinstance(thing, type)}
    functions = {name for name in classes if issubclass(getattr(faulty, name), faulty.Function)}
    assert functions - right - {"Function"} <= set(FAULTS)


def test_after_a_refused_backward_nothing_else_is_asked(cards):
    others = [row for row in cards["TooManyGradients"].rows if row.name != FIRST]
    assert {row.status for row in others} == {"not applicable", "skipped"}


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


def test_a_pretender_is_asked_for_its_proxy():
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
    assert row.message.startswith(f"only at kinks, at x = {place}, grad_output = ")
    assert row.message.endswith("(float32)") == (dtype == torch.float32)


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
    assert row.status == "works"
    assert row.message == "backward returns float64 for float32, and autograd converts it: costly"


def test_a_gradient_that_autograd_sums_rightly_is_told_and_is_no_failure():
    class Shifted(faulty.NoGradientForAnInput):
        @staticmethod
        def backward(ctx, grad_output):
            x, weight = ctx.saved_tensors
            return grad_output * weight, grad_output * x

    card = report_card(Shifted.apply, torch.linspace(-2, 2, 9), torch.tensor(3.0))
    row = card["gradient shape and dtype"]
    assert (row.status, card["slope"].status) == ("works", "works")
    assert row.message == "for input 1 backward returns shape (9,), and autograd sums it"


def test_a_value_that_is_the_same_at_all_large_numbers_stays_the_same():
    def sign(x):  # wrong in float64, too
        return x / x.abs().clamp(1e-3, 1e20)

    row = report_card(sign, torch.linspace(-2, 2, 9))["large x"]
    assert (row.status, row.yours, row.expected) == (WRONG, "1e+10", "1")
    assert row.message == "at x = 1e+30 (float32)"


def test_a_gradient_that_ends_at_a_thousand_is_seen_with_like():
    def ending(x):
        return torch.where(x.abs() < 1000, x, x.detach())

    card = report_card(ending, torch.linspace(-2, 2, 9), like=identity)
    assert [row.name for row in card.rows if not row.fine] == ["large x"]
    assert card["large x"].message == "gradient at x = 10000 (float32)"


def test_the_detach_trick_is_seen_in_bfloat16_where_float64_is_right():
    def fake(x):  # 300 is its own bfloat16, 299 is not
        return x + (x.clamp(-1, 1) - x).detach() if x.dtype == torch.bfloat16 else x.clamp(-1, 1)

    row = report_card(fake, torch.linspace(-2, 2, 9))["large x"]
    assert (row.status, row.expected) == (WRONG, "1")
    assert "(bfloat16)" in row.message
