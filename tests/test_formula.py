"""Formulas that a reader types: what they compute, what they refuse, and that nothing gets out."""

import math
import string
from contextlib import suppress

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.formula import (
    FUNCTIONS,
    LONGEST,
    TRIED,
    Formula,
    FormulaError,
    Typed,
)

X = torch.tensor([-2.5, -0.5, 0.0, 0.7, 3.0], dtype=torch.float64)
MEANT = {  # text: the same in torch, with a = 0.5 and s = 2
    "x * sigmoid(a * x)": lambda x: x * torch.sigmoid(0.5 * x),
    "clamp(round(x / s), -4, 3) * s": lambda x: torch.clamp(torch.round(x / 2), -4, 3) * 2,
    "torch.relu(x) - F.softplus(x)": lambda x: torch.relu(x) - F.softplus(x),
    "torch.nn.functional.gelu(x, approximate='tanh')": lambda x: F.gelu(x, approximate="tanh"),
    "x.abs().clamp(max=a) + math.pi": lambda x: x.abs().clamp(max=0.5) + math.pi,
    "where(x > 0, x, a * x)": lambda x: F.leaky_relu(x, 0.5),
    "where((x > -1) & ~(x > a), 1, 0) * x": lambda x: x * ((x > -1) & (x <= 0.5)),
    "x * ((-1 < x) & (x <= a))": lambda x: x * ((x > -1) & (x <= 0.5)),
    "x + (x > a) + (a > 1)": lambda x: x + (x > 0.5) * 1.0,
    "silu(x, 1) + x": lambda x: F.silu(x) + x,
    "maximum(0, x) + minimum(x, a)": lambda x: (
        torch.maximum(x, torch.zeros_like(x)) + torch.minimum(x, torch.full_like(x, 0.5))
    ),
    "x + sigmoid(a) + sqrt(s)": lambda x: x + torch.sigmoid(torch.tensor(0.5)).item() + 2**0.5,
    "x + (round(x) - x).detach()": lambda x: x + (torch.round(x) - x).detach(),
    "pow(x > 0, 2)": lambda x: (x > 0).double(),
    "x * 100000000000000000000": lambda x: x * 1e20,
}


@pytest.mark.parametrize("text", MEANT)
def test_a_formula_is_what_torch_computes(text):
    formula = Formula(text)
    named = {name: {"a": 0.5, "s": 2.0}[name] for name in formula.names}
    found, meant = X.clone().requires_grad_(), X.clone().requires_grad_()
    y, expected = formula(found, **named), MEANT[text](meant)
    torch.testing.assert_close(y, expected, rtol=1e-7, atol=0)
    if expected.requires_grad:
        pair = [torch.autograd.grad(v.sum(), x)[0] for v, x in ((y, found), (expected, meant))]
        torch.testing.assert_close(*pair, rtol=1e-7, atol=0)


def test_bounds_that_are_numbers_stay_numbers(monkeypatch):
    """As tensors they would have another gradient at the bound in some versions of torch."""
    given = []

    def clamp(x, *bounds):
        given.append(bounds)
        return torch.clamp(x, *bounds)

    monkeypatch.setitem(FUNCTIONS, "clamp", clamp)
    Formula("clamp(x, -4, s)")(X, s=3.0)
    assert given[-1] == (-4, 3.0) and not any(isinstance(each, torch.Tensor) for each in given[-1])


def test_numbers_are_computed_as_torch_does():
    assert Formula("x + 1 / (a - 1)")(X, a=1.0).tolist() == [math.inf] * 5
    assert Formula("x * (-1)**0.5")(X).isnan().all()
    assert Formula("x + round(0.5) + round(1.5)")(X).tolist() == (X + 2).tolist()
    assert Formula("x / 0.1 + a")(X, a=0.7).tolist() == (X / 0.1 + 0.7).tolist()


@pytest.mark.parametrize(
    "text, names",
    [
        ("x", ()),
        ("b * x + a * x + b", ("b", "a")),
        ("clamp(x, low, max=high)", ("low", "high")),
        ("alpha * x * pi * e", ("alpha",)),
        ("self * x + points + typed + values", ("self", "points", "typed", "values")),
        ("α * x", ("α",)),
    ],
)
def test_names_that_are_no_functions_are_free(text, names):
    typed = Typed(text)
    assert typed.names == names
    y = typed.function(**dict.fromkeys(names, 2.0))(X.clone().requires_grad_())
    assert y.shape == X.shape and y.requires_grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_is_elementwise(name):
    for text in (f"{name}(x)", f"{name}(x, 1)", f"{name}(x > 0, x, 1)", f"x + {name}(x, 0 * x)"):
        with suppress(FormulaError):
            y = Formula(text)(X.clone())
            parts = torch.cat([Formula(text)(X[:2].clone()), Formula(text)(X[2:].clone())])
            assert y.shape == X.shape and torch.equal(y.nan_to_num(9), parts.nan_to_num(9))
            return
    pytest.fail("none of these work")


ESCAPES = """
    __import__('os').system('true')
    ().__class__.__bases__[0].__subclasses__()
    (x).__class__
    sin.__globals__
    math.__loader__.load_module(x)
    x.data.fill_(1)
    open('x')
    (lambda: x)()
    [x for _ in (1,)]
    x[0]
    (y := x)
    f'{x.__class__}'
    'a' * 10**9
    True * x
    ...
    1j * x
    x @ x
    sin(*[x])
    abs(x, out=x)
    elu(x, inplace='yes')
    sin(**{'input': x})
    where(x)
    __builtins__
    x; import os
    x if x else x
    abs(x).__abs__()
""".strip().splitlines()


@pytest.mark.parametrize("text", ESCAPES)
def test_there_is_no_way_out(text):
    with pytest.raises(FormulaError) as raised:
        Formula(text.strip())
    assert TRIED.tolist() == [1, 1]
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 250


HUNGRY = [
    "9**9**9**9**9 * x",
    "(" * 300 + "x",
    "x" + ".abs()" * 33,
    "9" * 190 + "* x",
    "x" + "+x" * 99,
    "round(x, decimals=10**9)",
]


@pytest.mark.parametrize("text", HUNGRY)
def test_no_formula_takes_long_or_ends_the_kernel(text):
    try:
        assert Formula(text)(X).shape == X.shape
    except FormulaError as error:
        assert str(error)


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "type a formula"),
        ("x * ", "something has to follow `*`"),
        ("clamp(x, -1", "`(` is not closed"),
        ("torch.", "something has to follow `.`"),
        ("torch", "a function has to follow `torch`"),
        ("torch.sin", "write `sin(…)`"),
        ("x * sig", "`sig` begins sigmoid, sign"),
        ("x * sigmoid", "`sigmoid` is a function: write `sigmoid(…)`"),
        ("x)", "`)` too many"),
        ("2x", "write `*`"),
        ("a(x + 1)", "write `a * (…)`"),
        ("y = x**2", "leave out `=`"),
        ("x^2", "`x**2`"),
        ("x − 1", "`−` cannot be read"),
        ("max(x, 0)", "did you mean maximum?"),
        ("sigmod(x)", "did you mean sigmoid?"),
        ("softmax(x)", "each y has to depend on its own x alone"),
        ("np.sin(x)", "leave out `np`: write sin(x)"),
        ("1 + |x|", "write `abs(x)`"),
        ("x if x > 0 else 0", "`where(x > 0, a, b)`"),
        ("where(x > 0 and x < 1, x, 0)", "write `&` for and"),
        ("not x > 0", "write `~` for not"),
        ("x > 0 & x < 1", "in brackets"),
        ("x - (x > 0)", "with a bool tensor is not supported"),
        ("clamp(x)", "At least one of"),
        ("a*x + b*x + c*x + d*x + g", "at most 4 free names"),
        ("x + " * 60 + "x", f"at most {LONGEST} characters"),
    ],
)
def test_one_line_says_what_is_wrong_or_missing(text, says):
    with pytest.raises(FormulaError) as raised:
        Typed(text).function()
    assert says in str(raised.value)


def test_y_has_to_depend_on_x_and_the_gradient_need_not():
    with pytest.raises(FormulaError, match="needs an `x`"):
        Typed("a * 3").function(a=1.0)
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(Typed("sign(x)", "1").function()(x).sum(), x)
    assert gradient.tolist() == [1] * 5


def test_an_own_gradient_leaves_the_value_and_is_multiplied_by_the_upstream_gradient():
    typed = Typed("round(x / s) * s", "a * x / s")
    assert typed.names == ("s", "a")
    x = X.clone().requires_grad_()
    y = typed.function(s=2.0, a=3.0)(x)
    assert torch.equal(y, torch.round(X / 2) * 2)
    (gradient,) = torch.autograd.grad(y, x, X)
    torch.testing.assert_close(gradient, X * 3 * X / 2)


def test_what_is_wrong_with_the_gradient_says_so():
    with pytest.raises(FormulaError, match="in the gradient: half typed"):
        Typed("x", "2 *").function()


PIECES = "x a _ ( ) [ ] . , = * ** - / & ~ < 1 0.5 ' sin torch clamp __class__ if lambda : é 𝐱"


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.lists(st.sampled_from(PIECES.split(" ")), max_size=12).map("".join),
        st.text(string.printable, max_size=20),
    )
)
def test_whatever_is_typed_is_a_formula_or_gets_one_line(text):
    try:
        y = Formula(text)
    except FormulaError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert y(X, **dict.fromkeys(y.names, 1.0)).shape == X.shape


@pytest.mark.parametrize("text", ["x > 0", "where(x > 0, 1, 0)", "where(x > 0, a, x)", "1"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_result_has_the_dtype_of_x(text, dtype):
    x = torch.tensor([-0.5, 0.5], dtype=dtype)
    values = {"a": 0.25} if "a" in Formula(text).names else {}
    assert Formula(text)(x, **values).dtype == dtype
