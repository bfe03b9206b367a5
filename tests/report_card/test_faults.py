"""Each fault is found by its own row with its own message, and by no row that it does not touch."""

import functools

import faulty
import faulty_elsewhere  # noqa: F401  it registers its faults
import pytest
import torch
from faulty import FAULTS, FIRST, NESTED, identity

from autograd_surprises.report_card import report_card
from autograd_surprises.report_card.questions import ALWAYS, COMPILED, ask
from autograd_surprises.report_card.subject import Subject, subject_of

WRONG = "silently wrong"
X = torch.linspace(-2, 2, 9)
each = pytest.mark.parametrize("name", FAULTS)
ONE_OF_EACH_ROW = {fault.row: name for name, fault in FAULTS.items()}.values()
LATER = {name: [pytest.mark.slow] * (name not in ONE_OF_EACH_ROW) for name in FAULTS}


@functools.cache
def card_of(name):
    found = FAULTS[name]
    return report_card(found.function, X, *found.inputs, like=found.like)


@each
def test_its_row_finds_the_fault(name):
    found = FAULTS[name]
    subject = subject_of(found.function, (X, *found.inputs), found.like)
    row = ask(subject, found.row, (ALWAYS | COMPILED)[found.row])
    assert row.status == (WRONG if found.numbers else "refused")
    assert found.says in row.message
    assert found.remedy in row.remedy
    assert (row.yours, row.expected) == (found.numbers or ("", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=LATER[name]) for name in FAULTS])
def test_no_other_row_is_blamed(name):
    bad = {row.name for row in card_of(name).rows if not row.fine} - {NESTED}
    assert bad - FAULTS[name].may == {FAULTS[name].row} | FAULTS[name].also


@pytest.mark.slow
@each
def test_what_is_silently_wrong_comes_with_numbers(name):
    for row in card_of(name).rows:
        assert bool(row.yours and row.expected) == (row.status == WRONG)
        assert row.yours != row.expected or not row.yours


def test_each_question_has_a_fault():
    others = {"hessian", NESTED, "float64", "memory"}
    assert ALWAYS.keys() - {fault.row for fault in FAULTS.values()} == others


def test_inputs_are_counted_as_they_are_given():
    """Also those in front that are not differentiated."""
    x, weight = X.clone().requires_grad_(), torch.linspace(1, 3, 9, requires_grad=True)
    without = faulty.NoGradientForAnInput.apply
    row = report_card(lambda mask, x, w: without(x, w) * mask, torch.ones(9), x, weight)[FIRST]
    assert row.message == "input 2 of shape (9,) changes the value, but gets no gradient"
    wrong = faulty.SlopeOfAnother.apply
    row = report_card(lambda mask, w, x: wrong(x) * w * mask, torch.ones(9), weight, x)["slope"]
    assert row.message == "at input 2[0]"
    of_matrices = report_card(lambda x, w: x @ wrong(w), torch.ones(3, 2), torch.full((2, 2), 0.5))
    assert of_matrices["slope"].message == "at input 1[0, 0]"


def test_forward_mode_over_forward_mode_loses_what_a_jvp_depends_on():
    """A bug of torch, and so of every Function whose jvp computes anything."""
    row = report_card(faulty.Square.apply, X)[NESTED]
    assert (row.status, row.yours) == ("silently wrong", "0")
    assert "spell it without a Function in forward mode" in row.remedy
    assert card_of("NoJvp")[NESTED].status == "refused"
    handed_on = report_card(faulty.RoundStraightThrough.apply, X, like=identity)
    assert handed_on[NESTED].status == report_card(torch.square, X)[NESTED].status == "works"


def test_what_is_not_proved_is_not_claimed():
    row = card_of("square_under_no_grad")[NESTED]
    assert row.status == WRONG and "Perhaps" in row.remedy


def test_after_a_refused_backward_nothing_else_is_asked():
    others = [row for row in card_of("TooManyGradients").rows if row.name != FIRST]
    assert {row.status for row in others} == {"not applicable", "skipped"}


# ---- Memory, which is told and is no failure


@pytest.mark.parametrize(
    "function, like, says",
    [
        (faulty.Square, None, "keeps the input"),
        (faulty.KeepsTooMuch, None, "keeps the input and 8 bytes more for each number"),
        (faulty.SavesAnIntermediate, None, "keeps 4 bytes more for each number"),
        (faulty.WritesIntoItsInput, None, "keeps 1 byte more for each number"),
        (faulty.RoundStraightThrough, identity, "keeps nothing"),
    ],
)
def test_memory(function, like, says):
    row = report_card(function.apply, X, like=like)["memory"]
    assert row.status == "works" and says in row.message


def test_an_input_that_is_not_differentiated_is_an_input_too():
    row = report_card(lambda x, mask: x * mask, X.clone().requires_grad_(), torch.ones(9))
    assert row["memory"].message == "keeps the input"


# ---- Where the slope is looked at


@pytest.mark.parametrize(
    "dtype, place", [(torch.float64, "1.0000000000000002"), (torch.float32, "1.0000001")]
)
def test_a_boundary_one_float_off_is_seen(dtype, place):
    def hardtanh(x):
        limit = 1 + (torch.finfo(dtype).eps if x.dtype == dtype else 0)
        return torch.where(x.abs() <= limit, x, x.sign())

    row = report_card(hardtanh, X, like=torch.nn.Hardtanh())["slope"]
    assert (row.status, row.expected) == (WRONG, "0")
    assert "only at kinks" in row.message and f"x = {place}," in row.message
    assert ("(float32)" in row.message) == (dtype == torch.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, example, like, says, expected",
    [  # 1 and 1.5 are no kinks of these; the numbers beside them, or they themselves, are wrong
        (faulty.Thousandth, X, None, "at input 0[0]", None),
        (faulty.Thousandth, X, torch.square, "at input 0[0]", None),
        (faulty.RoundStraightThrough, torch.tensor([0.5, 1.5]), None, "at input 0[0]", "0"),
        (faulty.WrongAtItsKink, X, None, "at input 0[4]", None),
    ],
)
def test_a_fault_is_seen_where_fn_is_not_elementwise(function, example, like, says, expected):
    wanted = like and (lambda x, scale: like(x) * scale)
    card = report_card(
        lambda x, scale: function.apply(x) * scale, example, torch.tensor(0.5), like=wanted
    )
    row = card["slope"]
    assert (row.status, row.message) == (WRONG, says)
    assert expected in (None, row.expected)


@pytest.mark.parametrize(
    "transform, row",
    [("vmap", "vmap"), ("grad", "vmap(grad)"), ("jvp", "jvp"), ("hessian", "hessian"),
     ("jacfwd", NESTED)],
)  # fmt: skip
def test_a_transform_is_compared_with_plain_backward(monkeypatch, transform, row):
    right = getattr(torch.func, transform)

    def twice(result):
        return tuple(map(twice, result)) if isinstance(result, tuple) else 2 * result

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        return (lambda *tensors: twice(result(*tensors))) if callable(result) else twice(result)

    monkeypatch.setattr(torch.func, transform, wrong)
    assert ask(Subject(faulty.Square.apply, (X,)), row, ALWAYS[row]).status == WRONG


def test_a_right_jvp_is_not_blamed_for_a_wrong_backward_in_float64_either():
    card = report_card(faulty.SlopeOfAnother.apply, X.double())
    assert (card["slope"].status, card["jvp"].status) == (WRONG, "works")


def test_a_gradient_that_autograd_sums_is_right_for_a_number():
    card = report_card(faulty.Product.apply, X, torch.tensor(3.0))
    assert {row.name for row in card.rows if not row.fine} == {NESTED}
