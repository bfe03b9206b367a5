"""Checks on differentiating a gradient."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lessons.asking.answers import call_answer, short_list
from lessons.asking.arguments import (
    expect_kept,
    expect_new_gradient,
    leaf_with_old_grad,
    preset_grad,
)
from lessons.asking.registry import Wrong, check_of

NO_GRAPH = "does not require grad and does not have a grad_fn"
NO_CREATE_GRAPH = {
    NO_GRAPH: "something that you differentiate has no graph. A gradient gets one from "
    "create_graph=True in the first call; f(x) has none if x was detached."
}
NO_NUMBER = {
    "only for scalar outputs": "the gradient is a vector, so the second call needs weights: v. Or "
    "make it a number first: gradient @ v."
}
SQUARE = [[1.0, -2.0], [0.5, 3.0]], torch.float64
ROW = [0.25, -1.0, 2.0], torch.float32
SLOPE = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
STRAIGHT = "for the straight line {} yours finds no gradient, expected zeros: f′ {}."
GRAPH_ENDS = {NO_GRAPH: STRAIGHT.format("3 * x", "has no graph to walk through")}
UNUSED = {"not have been used": STRAIGHT.format("weight * x", "has a graph, but x is not in it")}


@check_of(
    "gradients_of_gradients.1",
    "A gradient of a gradient, and zeros where there is nothing left to differentiate.",
    inputs=[
        ("x ** 3", lambda x: x**3, lambda x: 6 * x, NO_CREATE_GRAPH, *SQUARE),
        ("3 * x", lambda x: 3 * x, torch.zeros_like, GRAPH_ENDS, *SQUARE),
        ("weight * x", lambda x: SLOPE * x, torch.zeros_like, UNUSED, *SQUARE),
        ("x ** 4", lambda x: x**4, lambda x: 12 * x**2, {}, *ROW),
    ],
)
def check_second_derivative(answer, formula, f, second, cures, point, dtype):
    x = leaf_with_old_grad(point, dtype)
    (first,) = torch.autograd.grad(f(x).sum(), x)
    expected = second(x.detach())
    yours = call_answer(answer, f, x, cures=cures)
    mistakes = {
        "That is the first derivative.": first,
        "Without create_graph=True, every derivative looks constant.": torch.zeros_like(x),
        "That is their sum: one for each number of x is asked for.": expected.sum(),
    }
    where = f"second derivative of {formula} at x = {short_list(point)}"
    expect_new_gradient(where, yours, expected, mistakes)
    expect_kept("x.grad", x)


class CostRecorder(TorchDispatchMode):
    """Counts how often a sine is computed, and the numbers in the largest tensor made."""

    sines = largest = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)]
        self.largest = max([self.largest, *sizes])
        self.sines += operation is torch.ops.aten.sin.default
        return made


@check_of(
    "gradients_of_gradients.2",
    "A matrix of 3600 numbers times v, and no tensor longer than v.",
    inputs=[
        ("(Σ sin x)² + Σ x³", lambda x: x.sin().sum() ** 2 + (x**3).sum(), 2, 60, torch.float64),
        ("Σ x² · Σ sin x", lambda x: (x**2).sum() * x.sin().sum(), 1.5, 20, torch.float32),
    ],
)
def check_hessian_vector_product(answer, formula, f, last, n, dtype):
    x = torch.linspace(-1, last, n, dtype=dtype)
    v = (7 * x).cos()
    gradient, hessian = torch.func.grad(f)(x), torch.func.jacrev(torch.func.grad(f))(x)
    x.requires_grad_()
    preset_grad(x)
    with CostRecorder() as cost:
        yours = call_answer(answer, f, x, v.clone(), cures={**NO_CREATE_GRAPH, **NO_NUMBER})
    expected = hessian @ v
    mistakes = {
        "That is H times ones, the sum of each row: v is not used.": hessian.sum(1),
        "That is (H times ones) · v: v goes inside, before the second call.": hessian.sum(1) * v,
        "That is the number gradient · v: its gradient is asked for.": gradient @ v,
        "That is H itself.": hessian,
    }
    where = f"H v for f(x) = {formula}"
    expect_new_gradient(where, yours, expected, mistakes)
    if cost.largest > n:
        raise Wrong(
            f"H v is right, but for {n} numbers yours makes a tensor of {cost.largest}: H, or a "
            "part of it. Nothing needs to be longer than v."
        )
    if cost.sines >= n:
        raise Wrong(
            f"H v is right, but for {n} numbers yours computes sin(x) {cost.sines} times: that is "
            "H row by row. Two calls are enough, however long x is."
        )
    expect_kept("x.grad", x)
