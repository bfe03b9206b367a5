"""Each fault is found by its own row with its own message, and by no row that it does not touch."""

from dataclasses import dataclass, field

import faulty
import pytest
import torch
from faulty import NESTED, identity
from torch.autograd.function import once_differentiable
from torch.func import jacfwd, jacrev

from autograd_surprises.report_card import report_card

FIRST = "one gradient per input"
FORWARD_MODE = {"jvp", "jacfwd"}
SECOND = {"double backward", "gradgradcheck"}
FUNC = {"vmap", "vmap(grad)", "jacrev", "hessian"} | FORWARD_MODE


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
    "SlopeOfAnother": Found("slope", WRONG, "at x = 1.8, grad_output = -1.25", "pass like="),
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
        "double backward", WRONG, "at x = -3, as in f(x).sum()", "remove @once", {"gradgradcheck"}
    ),
    "OnceDifferentiableWithoutSlope": Found(
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
    "WrongAtItsKink": Found("slope", WRONG, "only at kinks, at x = 0, grad_output = -1.25"),
    "WrongInFloat16": Found("float16", WRONG, "gradient at x = -3"),
    "ValueWrongInFloat16": Found("float16", WRONG, "at x = -3"),
    "AlwaysFloat32": Found(
        "output dtype", WRONG, "for an input of float64, bfloat16, float16", "y.to(x.dtype)"
    ),
    "OverflowsInBackward": Found("large x", WRONG, "gradient at x = 1e+30 (float32)"),
    "MasksByMultiplying": Found("inf upstream", WRONG, "grad_output = -inf", "torch.where(mask"),
    "MasksBeyondThree": Found(
        "inf upstream", WRONG, "at x = 4 for grad_output = -inf", "torch.where(mask"
    ),
    "OverflowsAtFour": Found(
        "float32", WRONG, "gradient at x = -4 for grad_output = 1", "in which nothing overflows",
        {"slope", "float64", "bfloat16", "float16", "large x", "inf, NaN and -0"},
        like=faulty.like_overflows_at_four,
    ),
    "NanFarOut": Found("large x", WRONG, "gradient at x = -300 (float32)", "nothing overflows"),
    "AnswersInFloat32": Found("slope", WRONG, "at x = 1.8", "pass like=", {"output dtype"}),
    "RefusesEmpty": Found("empty", REFUSED, "ValueError: nothing to square"),
    "UsesView": Found("non-contiguous", REFUSED, "view size is not", "use reshape"),
    "AssumesContiguous": Found("non-contiguous", WRONG, "gradient at x = "),
    "detour": Found(
        "large x", WRONG, "at x = 1e+08 (float32)", "no detour", {"inf, NaN and -0"},
        like=identity,
    ),
    "square_under_no_grad": Found(
        "jvp", WRONG, "at x = -3", "hides the write from backward, but not from forward mode",
        {"jacfwd"},
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


def test_what_once_differentiable_hides_is_a_wrong_number():
    """What the row says is what a user gets: 12, where x · f'(x) of a cube has the slope 36."""

    def gradient_of_product(f):
        x = torch.tensor(2.0, requires_grad=True)
        (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return torch.autograd.grad(x * slope, x)[0].item()

    class Cube(faulty.OnceDifferentiable):
        forward = staticmethod(lambda x: x**3)

        @staticmethod
        @once_differentiable
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad_output

    assert gradient_of_product(lambda x: x**3) == 36
    assert gradient_of_product(Cube.apply) == 12
    row = report_card(Cube.apply, torch.tensor([2.0]))["double backward"]
    assert (row.status, row.yours) == (WRONG, "0") and "remove @once" in row.remedy


nested_solve = torch.tensor([[3.0, 0.5], [-0.25, 2.0]]), torch.tensor([1.0, -2.0])
OF_TORCH = {
    "solve": (torch.linalg.solve, *nested_solve),
    "det": (torch.linalg.det, nested_solve[0]),
    "slogdet": (lambda a: torch.linalg.slogdet(a).logabsdet, nested_solve[0]),
    "layer_norm": (lambda a: torch.nn.functional.layer_norm(a, (2,)), nested_solve[0]),
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_a_fault_of_torchs_own_forward_mode_is_called_so(name):
    """solve, det and slogdet are right since torch 2.15; where they are wrong, torch is blamed."""
    function, *inputs = OF_TORCH[name]
    numbers = inputs[0].double()

    def total(a):
        y = function(a, *(other.double() for other in inputs[1:]))
        return (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum()

    nested, twice = jacfwd(jacfwd(total))(numbers), jacrev(jacrev(total))(numbers)
    row = report_card(lambda *some: 2 * function(*some).exp(), *inputs)[NESTED]
    if torch.allclose(nested, twice):
        assert row.status == "works"
    else:
        assert row.status == WRONG
        assert f"{name} alone is wrong, too: the fault is in torch {torch.__version__[:3]}" in (
            row.remedy
        )
        assert "jvp" not in row.remedy


def test_what_is_not_proved_is_not_claimed():
    row = report_card(faulty.square_under_no_grad, torch.linspace(-2, 2, 9))[NESTED]
    assert row.status == WRONG and "Perhaps" in row.remedy


def test_a_function_is_not_blamed_for_torchs_operation_beside_it():
    a, b = (tensor.double() for tensor in nested_solve)
    row = report_card(
        lambda a: torch.linalg.solve(faulty.RoundStraightThrough.apply(a), b),
        a,
        like=lambda a: torch.linalg.solve(a.round().detach() + (a - a.detach()), b),
    )
    row = row[NESTED]
    assert row.status == "works" or "torch.linalg.solve alone" in row.remedy


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
