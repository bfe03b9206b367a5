"""A check on two backwards through one graph."""

import torch

from lessons.asking.answers import call_answer, expect_close, in_words
from lessons.asking.arguments import expect_kept, expect_new_gradient, leaf_with_old_grad
from lessons.asking.registry import Wrong, check_of


@check_of(
    "backward_again.1",
    "The graph is kept for the second call, and freed by it.",
    inputs=[([1.0, 2.0, -1.0], torch.float64), ([0.5, -1.0, 1.5, 2.0, -0.5], torch.float32)],
)
def check_two_gradients(answer, numbers, dtype):
    x = leaf_with_old_grad(numbers, dtype)
    shared = x**3
    a, b = shared @ torch.arange(1, len(x) + 1).to(x.dtype), shared.square().sum()
    of_a, of_b = (torch.autograd.grad(loss, x, retain_graph=True)[0] for loss in (a, b))
    freed = (
        "the first call frees the part of the graph that the second needs: retain_graph=True in "
        "the first keeps it."
    )
    yours = call_answer(answer, a, b, x, cures={"a second time": freed})
    if not isinstance(yours, (tuple, list)) or len(yours) != 2:
        why = "One call for both returns their sum: ask for each alone."
        raise Wrong(f"needs a tuple of two gradients, got {in_words(yours)}.", why)
    if yours[0] is yours[1]:
        raise Wrong("the two are one tensor, x.grad: the second backward() added to it in place.")
    swapped = {"That is the gradient of b: the two are swapped.": of_b}
    both = {"The gradient of a is in it, too: backward() adds to x.grad.": of_a + of_b}
    expect_new_gradient("gradient of a", yours[0], of_a, swapped)
    expect_close("gradient of b", yours[1], of_b, both)
    expect_kept("x.grad", x)
    if any(gradient.requires_grad for gradient in yours):
        raise Wrong("create_graph=True gives the gradients a graph: retain_graph=True is enough.")
    try:
        torch.autograd.grad(a, x)
    except RuntimeError:
        return
    raise Wrong("after the call the graph is still alive, expected freed: retain it only once.")
