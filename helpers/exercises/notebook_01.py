"""Exercises on what gets a gradient and what gets trained."""

import torch
from torch import nn

from helpers.exercises.exercise import Exercise, Wrong, call, compare


def _check_scaled_line(answer):
    layer = call(answer)
    if not isinstance(layer, nn.Module):
        raise Wrong(f"makes a {type(layer).__name__}: the class needs to derive from nn.Module.")
    x = torch.tensor([1.0, -2.0])
    call(layer, x)
    for kind, wanted in (("parameters", {"weight", "bias"}), ("buffers", {"scale"})):
        found = {name for name, _ in getattr(layer, f"named_{kind}")()}
        if found != wanted:
            yours = ", ".join(sorted(found)) or "none"
            raise Wrong(f"{kind}: yours {yours}; expected {', '.join(sorted(wanted))}.")
    with torch.no_grad():
        layer.weight.fill_(3.0)
        layer.bias.fill_(1.0)
        layer.scale.fill_(0.5)
    y = layer(x)
    compare("value for weight 3, bias 1, scale 0.5", y, torch.tensor([2.0, -2.5]))
    if not y.requires_grad:
        raise Wrong("the result has no grad_fn: something in forward cuts the graph.")
    y.sum().backward()
    for name, expected in (("weight", -0.5), ("bias", 1.0)):
        grad = layer.get_parameter(name).grad
        if grad is None:
            raise Wrong(
                f"{name}.grad: yours None, expected a number; forward must use self.{name}."
            )
        compare(f"{name}.grad", grad.reshape(()), torch.tensor(expected))


def _check_middle_gradient(answer):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    yours = call(answer, x)
    if isinstance(yours, tuple):
        raise Wrong(
            "yours is a tuple: torch.autograd.grad returns one gradient per input, take [0]."
        )
    expected = torch.tensor([6.0, -12.0])
    if isinstance(yours, torch.Tensor) and yours.shape == x.shape:
        if torch.equal(yours.detach(), 3 * expected):
            raise Wrong("yours is the gradient of x, three times too large: y = 3x is asked for.")
        if torch.equal(yours.detach(), 3 * x.detach()):
            raise Wrong("yours is y itself, not the gradient of the loss with respect to y.")
    compare("gradient of y for x = [1, -2]", yours, expected)


EXERCISES = (
    Exercise(
        "01.1",
        "Two parameters and a buffer",
        5,
        "Write a module `ScaledLine` that computes `(weight * x + bias) * scale`. Training changes "
        "`weight` and `bias`. `scale` is saved in the `state_dict` and moved by `.to`, but no "
        "optimizer ever sees it. All three hold one number.",
        (
            "Everything that is registered is assigned after `super().__init__()`.",
            '`nn.Parameter(torch.ones(1))` for what is trained, `self.register_buffer("scale", '
            "torch.ones(1))` for what is only kept.",
        ),
        _check_scaled_line,
        "Two parameters train, the buffer travels along.",
    ),
    Exercise(
        "01.2",
        "The gradient in the middle",
        4,
        "Write `middle_gradient(x)`: it computes `y = 3 * x` and `loss = (y ** 2).sum()` and "
        "returns the gradient of `loss` with respect to `y`, which is not a leaf.",
        (
            "After `loss.backward()`, `y.grad` is `None`: backward passed through y and "
            "kept nothing.",
            "Either ask y to keep it, with `y.retain_grad()` before backward, or ask for it "
            "directly, with `torch.autograd.grad(loss, y)`.",
        ),
        _check_middle_gradient,
        "A non-leaf gives its gradient to those who ask.",
    ),
)
