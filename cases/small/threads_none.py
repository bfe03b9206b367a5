"""`.grad` is None, as in forum threads: the model's own code lets a value out of the graph.

Next to the lost tensors another parameter is trained, so that nobody is told.
"""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import CUT, Visit, case


class Rotate(nn.Module):
    def __init__(self):
        super().__init__()
        self.angle = nn.Parameter(torch.tensor(0.3))
        self.brightness = nn.Parameter(torch.ones(()))

    def forward(self, image, matrix):
        grid = F.affine_grid(matrix[None], image.shape, align_corners=False)
        return self.brightness * F.grid_sample(image, grid, align_corners=False)


@case("an image turned by a learned angle", "none", ("escape", "copy"), missed_alone=CUT)
def rotation_matrix():
    model = Rotate()
    cos, sin = model.angle.cos(), model.angle.sin()
    matrix = torch.FloatTensor([[cos, -sin, 0], [sin, cos, 0]])  #! -
    #: matrix = torch.stack([cos, -sin, 0 * cos, sin, cos, 0 * cos]).view(2, 3)
    loss = F.mse_loss(model(torch.rand(1, 1, 8, 8), matrix), torch.rand(1, 1, 8, 8))
    return Visit(loss, {"angle": model.angle}, model=model)


@case("`math.exp` of a kernel's learned width", "none", "escape", missed_alone=CUT)
def kernel_width():
    class ByMath(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_width = nn.Parameter(torch.tensor(-0.5))
            self.height = nn.Parameter(torch.randn(9))

        def width(self):
            return math.exp(self.log_width)  #! self.log_width.exp()

        def forward(self, x):
            squared = (x[:, None] - x) ** 2
            return torch.exp(-squared / (2 * self.width() ** 2)) @ self.height

    model, x = ByMath(), torch.linspace(-1, 1, 9)
    loss = F.mse_loss(model(x), torch.sin(3 * x))
    return Visit(loss, {"log_width": model.log_width}, model=model)


def adapted(net, rate=0.1):
    """MAML: the weights after one step, as functions of the weights before it."""
    x, target = torch.randn(5, 2), torch.randn(5, 1)
    slopes = torch.autograd.grad(F.mse_loss(net(x), target), net.parameters(), create_graph=True)
    named = zip(net.named_parameters(), slopes, strict=True)
    return {name: weight - rate * slope for (name, weight), slope in named}


@case("MAML: adapted weights go through `load_state_dict`", "none", "no-grad", missed_alone=CUT)
def maml():
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    fast = copy.deepcopy(net)
    fast.load_state_dict(adapted(net))  #! -
    #: fast = lambda x: torch.func.functional_call(net, adapted(net), x)
    loss = F.mse_loss(fast(torch.randn(5, 2)), torch.randn(5, 1))
    return Visit(loss, dict(net.named_parameters()))


@case("evolution: `vector_to_parameters` of a learned mean", "none", "data", missed_alone=CUT)
def weights_from_a_vector():
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    mean = torch.zeros(17, requires_grad=True)
    drawn = mean + 0.1 * torch.randn(17)  #: -
    #: drawn = iter((mean + 0.1 * torch.randn(17)).split([8, 4, 4, 1]))
    nn.utils.vector_to_parameters(drawn, net.parameters())  #! -
    #: weights = {name: next(drawn).view_as(old) for name, old in net.named_parameters()}
    loss = F.mse_loss(net(torch.randn(6, 2)), torch.randn(6, 1))  #: -
    #: predicted = torch.func.functional_call(net, weights, torch.randn(6, 2))
    #: loss = F.mse_loss(predicted, torch.randn(6, 1))
    return Visit(loss, {"mean": mean})


@case("a learned prompt, and its encoder under `no_grad`", "none", "no-grad", missed_alone=CUT)
def prompt_tuning():
    class Saving(nn.Module):
        def __init__(self):
            super().__init__()
            self.prompt = nn.Parameter(torch.randn(3, 2, 8))
            self.encoder = nn.GRU(8, 8, batch_first=True).requires_grad_(False)
            self.scale = nn.Parameter(torch.ones(()))

        def features(self):
            with torch.no_grad():  # the encoder is frozen anyway  #! with torch.enable_grad():
                return self.encoder(self.prompt)[0][:, -1]

        def forward(self, images):
            return self.scale * images @ self.features().T

    model = Saving()
    loss = F.cross_entropy(model(torch.randn(5, 8)), torch.randint(3, (5,)))
    return Visit(loss, {"prompt": model.prompt}, model=model)


@case(
    "a Function that uses a Parameter without taking it as an argument",
    "none",
    "not-an-argument",
    missed_alone=CUT,
)
def parameter_of_a_layer_in_forward():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):
            ctx.layer = layer  #: ctx.save_for_backward(x, layer)
            return x * layer.weight  #! x * layer

        @staticmethod
        def backward(ctx, grad_output):
            #: x, weight = ctx.saved_tensors
            #: return grad_output * weight, (grad_output * x).sum()
            return grad_output * ctx.layer.weight, None

    model, scale = nn.Linear(3, 1), nn.Linear(1, 1, bias=False)
    model.scale, scale.weight = scale, nn.Parameter(torch.tensor(2.0))
    loss = Scaled.apply(model(torch.rand(4, 3)), scale).sum()  #: -
    #: loss = Scaled.apply(model(torch.rand(4, 3)), scale.weight).sum()
    return Visit(loss, {"scale": scale.weight}, model=model)


class Codebook(nn.Module):
    """Its codes follow the mean of what they are chosen for, and the decoder sees them."""

    def __init__(self):
        super().__init__()
        self.codes, self.encoder = nn.Parameter(torch.randn(16, 2)), nn.Linear(3, 2)

    def forward(self, x):
        z = self.encoder(x)
        chosen = torch.cdist(z, self.codes).argmin(1)
        with torch.no_grad():
            for k in chosen.unique():
                mean = z[chosen == k].mean(0)
                self.codes.data[k] = 0.9 * self.codes.data[k] + 0.1 * mean
        return z, chosen


@case(
    "codes that follow an average, written through `.data`, and then detached",
    "none",
    "detach",
    missed_alone=CUT,
)
def codes_of_an_average():
    model = Codebook()
    z, chosen = model(torch.randn(64, 3))
    codes = model.codes.detach()[chosen]  #! -
    loss = (z - codes).square().mean()  #: (z.detach() - model.codes[chosen]).square().mean()
    return Visit(loss, {"codes": model.codes}, model=model)


def policy(choose):
    model = nn.Linear(4, 2)
    nn.init.orthogonal_(model.weight, 1.4)  # without a history, but of numbers that are over
    scale = torch.ones((), requires_grad=True)
    loss = (scale * choose(model, torch.randn(5, 4))).square().mean()
    return Visit(loss, {"weight": model.weight}, model=model)


@case(
    "actions that left torch through NumPy, after an orthogonal initialisation",
    "none",
    "no-grad",
    missed_alone=CUT,
)
def predicted_actions():
    def predict(model, observations):
        with torch.no_grad():  #! with torch.enable_grad():
            return torch.tensor(model(observations).numpy())  #: model(observations)

    return policy(predict)
