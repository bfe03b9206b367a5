"""Operators of torch.library: opcheck beside the gradient, and advice that fits an operator."""

import warnings

import pytest
import torch
from faulty import Square
from torch import Tensor

from autograd_surprises import report_card
from autograd_surprises.messages import known_message
from autograd_surprises.report_card.operators import TESTS

X = torch.linspace(-2, 2, 9)
# without a registration for forward mode, and with one for plain backward only
NEVER = {"jvp", "jacfwd(jacfwd)", "vmap(grad)", "hessian"}
each = pytest.mark.parametrize


def square(x: Tensor) -> Tensor:
    return x * x


def save_input(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def of_square(ctx, grad_output):
    return 2 * ctx.saved_tensors[0] * grad_output


def batched_square(info, in_dims, x):
    return x * x, in_dims[0]


def operator(name, forward=square, backward=of_square, fake=torch.empty_like, vmap=None):
    """y = x² as an operator, but for one thing."""
    made = torch.library.custom_op(f"trial::{name}", forward, mutates_args=())
    if backward:
        made.register_autograd(backward, setup_context=save_input)
    if fake:
        made.register_fake(lambda x: fake(x))
    if vmap:
        made.register_vmap(vmap)
    return made


RIGHT = operator("square", vmap=batched_square)
ALONE = operator("square_without_vmap")


def doubled_in_place(x: Tensor) -> Tensor:
    return x.mul_(2) * x / 4


def returned(x: Tensor) -> Tensor:
    return x


def in_float64(x: Tensor) -> Tensor:
    return (x * x).double()


def through_numpy(ctx, grad_output):
    return 2 * torch.from_numpy(ctx.saved_tensors[0].detach().numpy()) * grad_output


FAULTS = {  # the operator, its row, a part of its message and of its remedy, other rows it touches
    "a backward wrong by 2": (
        operator("wrong_by_2", backward=lambda ctx, g: 4 * ctx.saved_tensors[0] * g),
        "slope", "at x = 0.3", "pass like=",
    ),
    "no backward": (
        operator("no_backward", backward=None),
        "one gradient per input", "no autograd formula was registered", "register_autograd",
    ),
    "writes into its input": (
        operator("writes", doubled_in_place),
        "opcheck: schema", "not defined as mutable", "mutates_args",
        "input untouched", "slope", "double backward",
    ),
    "no fake": (
        operator("no_fake", fake=None),
        "opcheck: fake tensor", "no fake impl", "register_fake", "opcheck: traced backward",
    ),
    "a fake of another shape": (
        operator("longer", fake=lambda x: x.new_empty(x.numel() + 1)),
        "opcheck: fake tensor", "are not equal", "is like the operator's result",
        "opcheck: traced backward",
    ),
    "a dtype of its own": (
        operator("float64", in_float64),
        "output dtype", "for an input of float32", "y.to(x.dtype)",
        "opcheck: fake tensor", "non-contiguous",
    ),
    "a backward that cuts the graph": (
        operator("cuts", backward=through_numpy),
        "double backward", "at x = -3", "constant",
        "opcheck: traced backward", "autocast", "bfloat16",  # of NumPy
    ),
}  # fmt: skip


def bad_rows(card):
    return {row.name for row in card.rows if not row.fine}


@each("made", [RIGHT, ALONE, torch.ops.trial.square, torch.ops.trial.square.default])
def test_a_right_operator_has_four_rows_more_and_lacks_what_torch_lacks(made):
    card = report_card(made, X)
    assert card.name.startswith("trial::square")
    assert [row.name for row in card.rows[25:29]] == list(TESTS)
    assert bad_rows(card) == NEVER, str(card)


@pytest.mark.slow
def test_vmap_says_which_operator_it_calls_row_by_row(capfd):
    assert "trial::square_without_vmap once for each row" in report_card(ALONE, X)["vmap"].message
    assert not report_card(RIGHT, X)["vmap"].message
    assert not report_card(torch.ops.trial.implicit, X)["vmap"].message
    assert not capfd.readouterr().err
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.func.vmap(ALONE)(torch.ones(2, 3))
    said = [str(each.message) for each in caught] or capfd.readouterr().err  # of older versions
    assert "performance drop" in str(said)


@each("name", FAULTS)
def test_a_fault_is_found_by_its_row(name):
    made, found, says, remedy, *also = FAULTS[name]
    row = (card := report_card(made, X))[found]
    assert says in row.message and remedy in row.remedy, str(card)
    assert bad_rows(card) - NEVER == {found, *also}, str(card)


@pytest.mark.slow
@pytest.mark.usefixtures("inductor")
def test_the_advice_on_transforms_is_about_the_operator():
    card = report_card(RIGHT, X, compile=True)
    assert (card["jvp"].yours, card["jvp"].expected) == ("0", "13.5")
    for name in ("jvp", "jacfwd(jacfwd)", "compile(jvp)"):
        assert card[name].remedy.startswith("trial::square returns no tangent"), name
    for name in ("vmap(grad)", "hessian", "compile(grad)"):
        assert "registered for trial::square" in card[name].remedy, name
    assert {card[f"compile({name})"].status for name in ("aot_eager", "inductor")} == {"works"}


class AroundOperator(Square):
    """What the advice recommends: setup_context and a jvp around the operator."""

    forward = staticmethod(lambda x: RIGHT(x))


def test_a_function_around_the_operator_works_as_the_advice_says():
    card = report_card(AroundOperator.apply, X)
    assert bad_rows(card) == {"jacfwd(jacfwd)"}, str(card)  # a bug of torch in each jvp
    assert "issue" in card["jacfwd(jacfwd)"].remedy
    assert card["opcheck: schema"].status == "works"


torch.library.define("trial::implicit", "(Tensor x) -> Tensor")
torch.library.impl("trial::implicit", "CompositeImplicitAutograd", square)


def test_an_operator_cannot_be_told_to_mark_its_input():
    row = report_card(FAULTS["writes into its input"][0], X)["input untouched"]
    assert "make a new tensor" in row.remedy and "mark_dirty" not in row.remedy


def test_an_operator_that_returns_its_input_says_so():
    made = operator("returned", returned)
    with pytest.raises(ValueError, match="may not alias any inputs"):
        report_card(made, X)
    with pytest.raises(RuntimeError) as caught:
        made(X)
    assert known_message(str(caught.value)).id == "operator-returns-input"
