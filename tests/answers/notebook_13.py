"""Right and wrong answers to the exercises on default gradients."""

import torch
from torch.autograd import Function


def both_zero(a, b):
    return (a == 0) & (b == 0)


def either_zero(a, b):
    zero = (a == 0) | (b == 0)
    return torch.where(zero, torch.hypot(a, b).detach(), torch.hypot(torch.where(zero, 1, a), b))


class Masked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] != 0)


# ---- right ones


def safe(a, b):
    return torch.hypot(torch.where(both_zero(a, b), 1, a), b)


def in_place(a, b):
    length, some = torch.zeros_like(a), ~both_zero(a, b)
    length[some] = torch.hypot(a[some], b[some])
    return length


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
    "13.1": {
        "where twice": lambda a, b: torch.where(both_zero(a, b), 0, safe(a, b)),
        "masked_fill": lambda a, b: safe(a, b).masked_fill(both_zero(a, b), 0),
        "a mask of the safe one": lambda a, b: safe(a, b) * ~both_zero(a, b),
        "1 too much taken away": lambda a, b: safe(a, b) - both_zero(a, b).to(a.dtype),
        "safe squares": lambda a, b: torch.where(
            both_zero(a, b), 0, torch.where(both_zero(a, b), 1, a * a + b * b).sqrt()
        ),
        "some elements": in_place,
        "vector_norm": lambda a, b: torch.linalg.vector_norm(torch.stack([a, b]), dim=0),
        "the size of a complex number": lambda a, b: torch.complex(a, b).abs(),
        "a Function": Length.apply,
        "a hook": hooked,
    },
    "13.2": {
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


WRONG = {
    "13.1": {
        "plain hypot": (torch.hypot, "yours nan, expected 0. The gradient of hypot is a / length"),
        "a root": (lambda a, b: torch.sqrt(a * a + b * b), "A root is infinitely steep at 0"),
        "a power": (lambda a, b: (a * a + b * b) ** 0.5, "The power 0.5 is infinitely steep"),
        "an epsilon under the root": (
            lambda a, b: torch.sqrt(a * a + b * b + 1e-12),
            "value at a = 0, b = 0: yours 1e-06, expected 0. An epsilon",
        ),
        "a smaller epsilon": (
            lambda a, b: torch.sqrt(a * a + b * b + 1e-24),
            "value at a = 0, b = 0: yours 1e-12, expected 0",
        ),
        "where afterwards": (
            lambda a, b: torch.where(both_zero(a, b), 0, torch.hypot(a, b)),
            "yours nan, expected 0. The branch that where leaves out",
        ),
        "nan_to_num of the value": (
            lambda a, b: torch.hypot(a, b).nan_to_num(0),
            "The value has no NaN to repair",
        ),
        "a mask afterwards": (lambda a, b: torch.hypot(a, b) * ~both_zero(a, b), "0 / 0 or 0 · ∞"),
        "a quotient of 0 and 0": (
            lambda a, b: (a * a + b * b) / torch.hypot(a, b),
            "value at a = 0, b = 0: yours nan, expected 0. Some step computes 0 / 0",
        ),
        "kept above an epsilon": (
            lambda a, b: torch.hypot(a, b).clamp(min=1e-6),
            "A length that is kept above an epsilon",
        ),
        "without the second where": (
            lambda a, b: torch.hypot(torch.where(both_zero(a, b), 1, a), b),
            "value at a = 0, b = 0: yours 1, expected 0. A safe input gives",
        ),
        "the city block": (lambda a, b: a.abs() + b.abs(), "That is |a| + |b|"),
        "the square": (lambda a, b: a * a + b * b, "The root is missing"),
        "the larger": (
            lambda a, b: torch.maximum(a.abs(), b.abs()),
            "value at a = 3, b = 4: yours 4, expected 5. It is the root of a² + b²",
        ),
        "one of them cut": (
            lambda a, b: torch.linalg.vector_norm(torch.stack([a, b.detach()]), dim=0),
            "gradient with respect to b: yours None",
        ),
        "no length where either is 0": (
            lambda a, b: torch.where((a == 0) | (b == 0), 0, torch.hypot(a, b)),
            "value at a = 0, b = 2: yours 0, expected 2. Only where both are 0",
        ),
        "0 where either is 0": (
            either_zero,
            "respect to a at a = -5, b = 0, upstream 0.5: yours 0, expected -0.5. Only where both",
        ),
        "the upstream gradient": (
            lambda a, b: torch.hypot(a, b).detach() + (a + b) - (a + b).detach(),
            "upstream 2: yours 2, expected 0. There it is 0, for both",
        ),
        "a slope too large": (
            lambda a, b: (
                2 * (safe := torch.linalg.vector_norm(torch.stack([a, b]), dim=0)) - safe.detach()
            ),
            "at a = 3, b = 4, upstream -3: yours -3.6, expected -1.8. It is a / length, times",
        ),
    },
    "13.2": {
        "x itself": (
            lambda x: 1 * x,
            "gradient at x = 0, upstream -4: yours -4, expected 0. There it is the slope of the",
        ),
        "halves that keep their slope": (
            lambda x: x.masked_fill(x < 0, 0) + x.masked_fill(x > 0, 0),
            "yours -8, expected 0. Each of the two pieces passes on its whole slope",
        ),
        "one half": (torch.relu, "value at x = -2: yours 0, expected -2. The negative half"),
        "without its sign": (torch.abs, "value at x = -2: yours 2, expected -2. The sign is lost"),
        "between bounds": (
            lambda x: x.clamp(-100, 100),
            "value at x = -1e+12: yours -100, expected -1e+12. x goes further",
        ),
        "a quotient": (lambda x: x * x / x, "value at x = 0: yours nan, expected 0. 0 / 0"),
        "a root": (
            lambda x: torch.sqrt(x * x) * x.sign(),
            "yours nan, expected 0. Some step of backward",
        ),
        "cut at 0": (lambda x: torch.where(x == 0, x.detach(), x), "it cuts the graph with detach"),
        "a Function": (Masked.apply, "a Function of your own"),
        "no gradient at all": (
            lambda x: torch.tensor(x.tolist(), dtype=x.dtype) + 0 * x,
            "gradient at x = -2, upstream 2: yours 0, expected 2. Away from 0 it is upstream",
        ),
        "the class": (Masked, "needs a function, got the class"),
    },
}
