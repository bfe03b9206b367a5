"""Every correct spelling of the two answers is accepted, whatever torch's version."""

import pytest
import torch
from torch.autograd import Function

from lessons.checking import check


def both_zero(a, b):
    return (a == 0) & (b == 0)


def safe(a, b):
    return torch.hypot(torch.where(both_zero(a, b), 1, a), b)


def in_place(a, b):
    length, some = torch.zeros_like(a), ~both_zero(a, b)
    length[some] = torch.hypot(a[some], b[some])
    return length


def squares(a, b):
    return torch.where(both_zero(a, b), 1, a * a + b * b).sqrt()


class Length(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.hypot(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        factor = grad_output / torch.hypot(a, b)
        return (a * factor).nan_to_num(0), (b * factor).nan_to_num(0)


def hooked(a, b):
    a, b = a.clone(), b.clone()
    for each in (a, b):
        each.register_hook(lambda gradient: gradient.nan_to_num(0))
    return torch.hypot(a, b)


RIGHT = {
    "09.1": {
        "where twice": lambda a, b: torch.where(both_zero(a, b), 0, safe(a, b)),
        "masked_fill": lambda a, b: safe(a, b).masked_fill(both_zero(a, b), 0),
        "a mask of the safe one": lambda a, b: safe(a, b) * ~both_zero(a, b),
        "1 too much taken away": lambda a, b: safe(a, b) - both_zero(a, b).to(a.dtype),
        "safe squares": lambda a, b: torch.where(both_zero(a, b), 0, squares(a, b)),
        "some elements": in_place,
        "vector_norm": lambda a, b: torch.linalg.vector_norm(torch.stack([a, b]), dim=0),
        "the size of a complex number": lambda a, b: torch.complex(a, b).abs(),
        "a Function": Length.apply,
        "a hook": hooked,
    },
    "09.2": {
        "two halves": lambda x: torch.relu(x) - torch.relu(-x),
        "size times sign": lambda x: x.abs() * x.sign(),
        "copysign": lambda x: x.abs().copysign(x),
        "two halves and the size": lambda x: 2 * torch.relu(x) - x.abs(),
        "a mask": lambda x: x * (x != 0),
        "where": lambda x: torch.where(x == 0, 0, x),
        "masked_fill": lambda x: x.masked_fill(x == 0, 0),
        "a threshold of 0": lambda x: torch.nn.functional.softshrink(x, 0.0),
        "without its zeros": lambda x: x - x * (x == 0),
    },
}
ANSWERS = [(number, name) for number, answers in RIGHT.items() for name in answers]


@pytest.mark.parametrize("number, name", ANSWERS, ids=[f"{n}-{name}" for n, name in ANSWERS])
def test_a_right_answer_is_accepted(number, name, capsys):
    check(number, RIGHT[number][name])
    assert capsys.readouterr().out.startswith(f"✓ {number} ")
