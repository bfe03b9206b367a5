"""The doctor names the user's line, whatever happens inside this project's own packages."""

import linecache

import pytest
import torch

import autograd_surprises
from autograd_surprises.doctor import explain_error, trace
from helpers.functions import round_ste, value_with_gradient_of

CHECKOUT = autograd_surprises.__path__[0].removesuffix("autograd_surprises")


def line_of(where):
    return where.file, linecache.getline(where.file, where.line).strip()


def test_a_cut_inside_helpers_is_at_the_line_that_calls_it():
    w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with trace() as t:
        y = value_with_gradient_of(2 * w, 3 * x)
    assert line_of(t.explain(y.sum(), {"w": w, "x": x})["w"].where) == (
        __file__,
        "y = value_with_gradient_of(2 * w, 3 * x)",
    )


def test_an_error_inside_helpers_is_at_the_line_that_calls_it():
    with pytest.raises(TypeError) as caught:
        round_ste(3)
    assert line_of(explain_error(caught.value).where) == (__file__, "round_ste(3)")


@pytest.mark.parametrize(
    ("file", "is_the_users"),
    [
        (CHECKOUT + "helpers/functions/rounding.py", False),
        (CHECKOUT + "autograd_surprises/show/table.py", False),
        (CHECKOUT + "helpers.py", True),
        (CHECKOUT + "train.py", True),
        ("/home/me/project/helpers.py", True),
        ("/home/me/project/helpers/losses.py", True),
    ],
)
def test_whose_file_it_is(file, is_the_users):
    space = {}
    exec(compile("def cut(x):\n    return x.detach()", file, "exec"), space)
    w = torch.ones(2, requires_grad=True)
    with trace() as t:
        y = space["cut"](w).sum()
    assert t.explain(y, {"w": w})["w"].where.file == (file if is_the_users else __file__)
