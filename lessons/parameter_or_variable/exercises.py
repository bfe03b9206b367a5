"""Checks on what gets a gradient and what gets trained."""

import warnings

import torch
from torch import nn

from lessons.asking.answers import call_answer, expect_close, short_list
from lessons.asking.registry import NotDone, Wrong, check_of


@check_of(
    "parameter_or_variable.1",
    "Two parameters are trained, and the buffer is saved and moved with them.",
    inputs=[
        (torch.float32, 3.0, 1.0, 0.5, [1.0, -2.0]),
        (torch.float64, -2.0, 0.25, 4.0, [[0.5, -1.5, 2.0], [1.0, 0.0, 3.0]]),
    ],
)
def check_scaled_line(answer, dtype, weight, bias, scale, x):
    layer = call_answer(answer)
    tensors = _registered(layer.to(dtype))
    with torch.no_grad():
        for name, value in (("weight", weight), ("bias", bias), ("scale", scale)):
            tensors[name].fill_(value)
    x = torch.tensor(x, dtype=dtype)
    at = short_list(x.tolist())
    where = f"value for weight {weight:g}, bias {bias:g}, scale {scale:g} at x = {at}"
    y = call_answer(layer, x.clone())
    expect_close(where, y, (weight * x + bias) * scale)
    if not y.requires_grad:
        raise Wrong("the result has no grad_fn: something in forward cuts the graph.")
    y.sum().backward()
    for name, expected in (("weight", scale * x.sum().item()), ("bias", scale * x.numel())):
        grad = tensors[name].grad
        if grad is None:
            raise Wrong(f"{name}.grad: yours None, expected {expected}: forward uses a copy.")
        expect_close(f"{name}.grad", grad.reshape(()), torch.tensor(expected, dtype=dtype))


def _registered(layer):
    """The three tensors of the layer by name, or what is wrong with them."""
    if not isinstance(layer, nn.Module):
        raise Wrong(f"makes a {type(layer).__name__}: derive the class from nn.Module.")
    tensors = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    if not tensors and type(layer).forward is nn.Module.forward:
        raise NotDone
    for kind, wanted, remedy in (
        ("parameters", {"weight", "bias"}, "a Parameter is trained, a buffer is not"),
        ("buffers", {"scale"}, "self.register_buffer keeps what is not trained"),
    ):
        found = {name for name, _ in getattr(layer, f"named_{kind}")()}
        if found != wanted:
            yours = ", ".join(sorted(found)) or "none"
            raise Wrong(f"{kind}: yours {yours}, expected {', '.join(sorted(wanted))}: {remedy}.")
    if "scale" not in layer.state_dict():
        raise Wrong("state_dict: yours lacks scale: leave persistent=True in register_buffer.")
    return tensors


@check_of(
    "parameter_or_variable.2",
    "You can have the gradient with respect to a non-leaf, if you ask for it.",
    inputs=[([0.0, 1.0], torch.float32), ([[0.5, -1.0, 0.25], [1.5, 0.0, -2.0]], torch.float64)],
)
def check_middle_gradient(answer, numbers, dtype):
    x = torch.tensor(numbers, dtype=dtype, requires_grad=True)
    with warnings.catch_warnings():  # the check says the same in a line
        warnings.filterwarnings("ignore", message="The .grad attribute")
        yours = call_answer(answer, x, needs_result=False)
    if yours is None:
        raise Wrong(
            "yours is None: backward() returns nothing, and y.grad stays empty unless "
            "y.retain_grad() comes before it, because y is a non-leaf."
        )
    y = x.detach().exp()
    mistakes = {
        "That is the gradient with respect to x. The one with respect to y is asked for, one "
        "step earlier.": 2 * y * y,
        "Those are the values of y itself, half of its gradient.": y,
    }
    expect_close(f"gradient with respect to y at x = {short_list(numbers)}", yours, 2 * y, mistakes)
