"""`.grad` is None: a result was copied without its history.

In each patient `bias` keeps the loss connected, so that backward() runs and says nothing.
"""

import numpy as np
import torch
from torch import nn

from cases.case import CUT, Visit, case


@case("`.detach()` in the forward pass", "none", "detach", missed_alone=CUT)
def detach():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    hidden = (weight * 2).detach()  #! weight * 2
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": weight})


@case("`.data` in the forward pass", "none", "data", missed_alone=CUT)
def data():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (weight.data * 2 + bias).sum()  #! (weight * 2 + bias).sum()
    return Visit(loss, {"weight": weight})


@case("a buffer filled through `.data`", "none", "data", missed_alone=CUT)
def write_through_data():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    buffer = torch.zeros(3)
    buffer.data[:] = weight.data * 2  #! buffer[:] = weight * 2
    loss = (buffer + bias).sum()
    return Visit(loss, {"weight": weight})


@case("`loss.requires_grad_()` hides a cut", "none", ("detach", "loss-is-leaf"))
def loss_made_a_leaf():
    weight = torch.ones(3, requires_grad=True)
    hidden = (weight * 2).detach()  #! weight * 2
    loss = hidden.sum()
    loss.requires_grad_()
    return Visit(loss, {"weight": weight})


@case("`.item()`, and back into a tensor", "none", "escape", missed_alone=CUT)
def item():
    weight = torch.tensor(3.0, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    scale = (weight * 2).item()  #! weight * 2
    loss = (torch.ones(2) * scale + bias).sum()
    return Visit(loss, {"weight": weight})


@case("through NumPy and back", "none", ("escape", "detach"), missed_alone=CUT)
def numpy_and_back():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    waves = np.sin(weight.detach().numpy())  #! -
    loss = (torch.from_numpy(waves) + bias).sum()  #: (torch.sin(weight) + bias).sum()
    return Visit(loss, {"weight": weight})


@case("`torch.tensor(a tensor)`", "none", "copy", missed_alone=CUT)
def torch_tensor():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    hidden = torch.tensor(weight * 2)  #! (weight * 2).clone()
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": weight})


@case("losses collected with `torch.tensor([…])`", "none", "copy", missed_alone=CUT)
def torch_tensor_of_losses():
    weight = torch.ones(3, requires_grad=True)
    losses = [(weight * k).sum() for k in (1.0, 2.0)]
    loss = torch.tensor(losses, requires_grad=True).mean()  #! torch.stack(losses).mean()
    return Visit(loss, {"weight": weight})


@case("a computation inside `torch.no_grad()`", "none", "no-grad", missed_alone=CUT)
def no_grad_block():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    with torch.no_grad():  #! with torch.enable_grad():
        hidden = weight * 2
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": weight})


@case("a function decorated with `@torch.no_grad()`", "none", "no-grad", missed_alone=CUT)
def no_grad_decorator():
    @torch.no_grad()  #! weight = torch.ones(3, requires_grad=True)
    def doubled(x):
        return x * 2

    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (doubled(weight) + bias).sum()
    return Visit(loss, {"weight": weight})


@case("`.sample()` of a distribution", "none", "no-grad", missed_alone=CUT)
def sample():
    mean = torch.zeros(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    drawn = torch.distributions.Normal(mean, 1.0).sample()  #! -
    #: drawn = torch.distributions.Normal(mean, 1.0).rsample()
    loss = (drawn**2 + bias).sum()
    return Visit(loss, {"mean": mean})


@case("a computation inside `torch.inference_mode()`", "none", "inference-mode", missed_alone=CUT)
def inference_mode():
    weight = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    with torch.inference_mode():  #: with torch.enable_grad():
        hidden = weight * 2  #!
    loss = (hidden.clone() + bias).sum()
    return Visit(loss, {"weight": weight})


@case(
    "a codebook behind a straight-through estimator", "none", "straight-through", missed_alone=CUT
)
def codebook_behind_an_estimator():
    codebook, encoder = nn.Embedding(4, 2), nn.Linear(3, 2)
    x = encoder(torch.rand(5, 3))
    nearest = codebook(torch.cdist(x, codebook.weight).argmin(1))
    passed = x + (nearest - x).detach()  #!
    loss = (passed - 1).square().mean()  #: -
    #: loss = (passed - 1).square().mean() + (nearest - x.detach()).square().mean()
    return Visit(loss, {"codebook": codebook.weight})
