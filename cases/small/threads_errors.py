"""backward(), or a line before it, raises an error, as in forum threads."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Visit, case


@case("rotary embedding: the cosines are cached", "error", "second-backward")
def cached_embedding():
    class Cached(nn.Module):
        """Rotary embedding: cosines of learned frequencies."""

        def __init__(self):
            super().__init__()
            self.frequency = nn.Parameter(torch.rand(4))
            self.cache = None

        def forward(self, length):
            if self.cache is None:
                self.cache = torch.cos(torch.arange(length)[:, None] * self.frequency)  #!
            #: self.cache = torch.cos(torch.arange(length)[:, None] * self.frequency)
            return self.cache

    rotary, layer = Cached(), nn.Linear(4, 4)
    (layer(torch.randn(5, 4)) * rotary(5)).pow(2).mean().backward()
    rotary.zero_grad()
    loss = (layer(torch.randn(5, 4)) * rotary(5)).pow(2).mean()
    return Visit(loss, dict(rotary.named_parameters()))


@case("PINN: the slope along a slice of the input", "error", "unused-input")
def slope_of_a_slice():
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    points = torch.rand(10, 2, requires_grad=True)
    height = net(points)
    time = points[:, 1:]
    (speed,) = torch.autograd.grad(height.sum(), time, create_graph=True)  #! -
    #: speed = torch.autograd.grad(height.sum(), points, create_graph=True)[0][:, 1]
    loss = speed.pow(2).mean()
    return Visit(loss, {"0.weight": net[0].weight})


@case("an attack inside an evaluation", "error", "not-connected")
def attack_under_no_grad():
    net, label = nn.Linear(16, 3), torch.tensor([0, 1])

    #: @torch.enable_grad()
    def attacked(x):
        x = x.clone().requires_grad_()
        F.cross_entropy(net(x), label).backward()
        return (x + 0.1 * x.grad.sign()).detach()

    with torch.no_grad():
        scores = net(attacked(torch.rand(2, 16)))  #! images = attacked(torch.rand(2, 16))
    return Visit(F.cross_entropy(scores, label), {"weight": net.weight})  #: -
    #: net.zero_grad()
    #: return Visit(F.cross_entropy(net(images), label), {"weight": net.weight})


@case("a copy of the best model, which keeps its code", "error", "deepcopy-of-result")
def copy_of_the_best():
    class Remembering(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(4, 3), nn.Linear(3, 1)

        def forward(self, x):
            self.code = torch.tanh(self.encode(x))
            return self.decode(self.code)

    net = Remembering()
    loss = F.mse_loss(net(torch.randn(6, 4)), torch.randn(6, 1))
    best = copy.deepcopy(net)  #! return Visit(loss, {"weight": net.encode.weight})
    return Visit(loss, {"weight": best.encode.weight})


@case("a full backward hook before `ReLU(inplace=True)`", "error", "hooked-in-place")
def hook_before_in_place():
    layer, norm, sizes = nn.Linear(4, 4), nn.BatchNorm1d(4), []
    norm.register_full_backward_hook(lambda module, inner, outer: sizes.append(outer[0].norm()))
    relu = nn.ReLU(inplace=True)  #: nn.ReLU()
    hidden = norm(layer(torch.randn(6, 4)))  #!
    hidden = relu(hidden)  #!
    return Visit(hidden.pow(2).mean(), {"weight": layer.weight})


@case("an embedding with max_norm, looked up after its weights were used", "error", "overwritten")
def embedding_scaled_by_a_lookup():
    """Scores of all entities, beside a look-up that scales its rows in place."""
    entities, relation = nn.Embedding(6, 4, max_norm=1.0), nn.Linear(4, 4, bias=False)
    #: some = entities(torch.arange(3))
    everyone = relation(entities.weight)
    some = entities(torch.arange(3))  #! -
    loss = (some @ everyone.T).square().sum()
    return Visit(loss, nn.ModuleDict({"entities": entities, "relation": relation}))
