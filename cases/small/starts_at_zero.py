"""Healthy steps in which a gradient of 0, or nearly 0, is meant."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import case


class Residual(nn.Module):
    """x + scale * branch(x)"""

    def __init__(self, branch, scale):
        super().__init__()
        self.branch, self.scale = branch, nn.Parameter(scale)

    def forward(self, x):
        return x + self.branch(x) * self.scale


def classified(*blocks):
    stem, head = nn.Conv2d(3, 8, 3, bias=False), nn.Linear(8, 4)
    model = nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    x, target = torch.randn(6, 3, 8, 8), torch.randint(4, (6,))
    return model, lambda: F.cross_entropy(model(x), target)


def branch():
    return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))  # fmt: skip


@case(normal=[("zero", "zero-factor")])
def skip_gain():
    """The gain of a normaliser-free network."""
    return classified(*(Residual(branch(), torch.zeros(())) for _ in range(3)))


@case(normal=[("tiny", "small-factor")])
def layer_scale():
    """As in ConvNeXt and CaiT."""
    return classified(*(Residual(branch(), torch.full((8, 1, 1), 1e-6)) for _ in range(3)))


@case(normal=[("zero", "zero-factor")])
def zero_head():
    """The head of a ViT in timm starts at 0."""
    model, loss = classified(nn.Conv2d(8, 8, 3), nn.ReLU())
    nn.init.zeros_(model[-1].weight)
    return model, loss


@case(normal=[("zero", "zero-factor")])
def gate_that_starts_at_zero():
    """adaLN-Zero, as in DiT: the gate of a block is computed by a layer that starts at 0."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.gate = nn.Linear(6, 6), nn.Linear(4, 12)
            nn.init.zeros_(self.gate.weight)
            nn.init.zeros_(self.gate.bias)

        def forward(self, x, condition):
            gate, shift = self.gate(condition).chunk(2, dim=1)
            return x + gate * self.body(x) + shift

    model, x, condition = Gated(), torch.randn(8, 6), torch.randn(8, 4)
    return model, lambda: F.mse_loss(model(x, condition), x.flip(1))


@case(normal=[("zero", "cancel")])
def bias_before_batch_norm():
    return classified(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.Tanh())


@case(normal=[("zero", "cancel")])
def bias_of_the_keys():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            scores = self.query(x) @ self.key(x).mT
            return scores.softmax(-1) @ self.value(x)

    model, x = Attention(), torch.randn(4, 6, 8)
    return model, lambda: F.mse_loss(model(x), x.flip(1))


@case(normal=[("zero", "empty-selection")])
def experts_without_a_token():
    gate = nn.Linear(6, 8)
    experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(8)])
    x = torch.randn(3, 6)

    def loss():
        share, chosen = gate(x).softmax(1).max(1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            (row,) = torch.where(chosen == number)
            out = out.index_add(0, row, share[row, None] * expert(x[row]))
        return F.mse_loss(out, x.flip(1))

    return nn.ModuleDict({"gate": gate, "experts": experts}), loss


@case(normal=[("ok", "own-function")])
def backward_that_asks_for_gradients():
    class Adjoint(torch.autograd.Function):
        """As an adjoint method: the gradient of the parameters is computed again in backward."""

        @staticmethod
        def forward(ctx, layer, x, *parameters):
            ctx.layer = layer
            ctx.save_for_backward(x)
            return layer(x)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = ctx.layer(x)
            return None, None, *torch.autograd.grad(again, [*ctx.layer.parameters()], gradient)

    layer, x = nn.Linear(4, 4), torch.randn(8, 4)
    return layer, lambda: F.mse_loss(Adjoint.apply(layer, x, *layer.parameters()), x.flip(1))


@case(normal=[("zero", "cancel")])
def bias_that_a_difference_removes():
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    real, fake = torch.randn(8, 4), torch.randn(8, 4)
    return critic, lambda: critic(fake).mean() - critic(real).mean()


@case(normal=[("zero", "cancel")])
def mean_that_data_set():
    """As ActNorm of a flow: its first batch sets the shift to the mean, which is the minimum."""

    class Standardised(nn.Module):
        def __init__(self, x):
            super().__init__()
            self.shift = nn.Parameter(x.mean(0))
            self.log_scale = nn.Parameter(torch.zeros(4))

        def forward(self, x):
            return (x - self.shift) * self.log_scale.exp()

    x = torch.randn(64, 4)
    model = Standardised(x)
    return model, lambda: (model(x) ** 2).mean() / 2 - model.log_scale.sum()


@case(normal=[("tiny", "small-factor")])
def residual_branch_of_small_weights():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = (nn.Linear(8, 8, bias=False) for _ in range(3))
            for layer in (self.first, self.second):
                nn.init.normal_(layer.weight, std=1e-4)

        def forward(self, x):
            return x + self.third(torch.tanh(self.second(torch.tanh(self.first(x)))))

    block, x = Block(), torch.randn(16, 8)
    return block, lambda: F.mse_loss(block(x), x.flip(1))


@case(normal=[("zero", "cancel")])
def batch_norm_whose_scale_another_removes():
    """As in DenseNet: relu passes the scale on, and the next BatchNorm divides by it."""
    model = nn.Sequential(nn.BatchNorm1d(6), nn.ReLU(), nn.BatchNorm1d(6, eps=1e-12), nn.Tanh())
    x = torch.randn(64, 6)
    return model, lambda: F.mse_loss(model(x), x.flip(1))


@case(normal=[("zero", "zero-factor"), ("ok", "own-function")])
def adapter_in_an_own_function():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, gradient):
            a, b = ctx.saved_tensors
            return gradient @ b.T, a.T @ gradient

    model = nn.ParameterDict({"a": torch.randn(6, 2), "b": torch.zeros(2, 6)})
    x = torch.randn(8, 6)
    return model, lambda: F.mse_loss(x + x @ Product.apply(model["a"], model["b"]), x.flip(1))


@case(normal=[("zero", "not-picked")])
def critic_that_is_never_the_smaller():
    model = nn.ModuleList([nn.Linear(4, 1) for _ in range(2)])
    nn.init.constant_(model[1].bias, 9.0)
    x = torch.randn(8, 4)
    return model, lambda: -torch.cat([critic(x) for critic in model], 1).min(1).values.mean()


@case(normal=[("zero", "cancel")])
def scale_before_a_depthwise_convolution():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.BatchNorm2d(8, eps=1e-12), nn.ReLU(),
        nn.Flatten(), nn.Linear(8 * 16, 4),
    )  # fmt: skip
    x, y = torch.randn(6, 3, 8, 8), torch.tensor([0, 1, 2, 3, 0, 1])
    return model, lambda: F.cross_entropy(model(x), y)


@case(normal=[("zero", "zero-factor")])
def zero_convolution():
    """As in ControlNet: a copy of the encoder speaks through a convolution that starts at 0."""
    encoder, decoder = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)
    control, out = copy.deepcopy(encoder), nn.Conv2d(8, 8, 1)
    nn.init.zeros_(out.weight)
    nn.init.zeros_(out.bias)
    encoder.requires_grad_(False)
    x, hint = torch.randn(2, 2, 3, 6, 6)
    return nn.ModuleList([control, out]), lambda: F.mse_loss(
        decoder(encoder(x) + out(control(x + hint))), x
    )


@case(normal=[("none", "frozen")])
def student_with_its_teacher_inside():
    class Distilled(nn.Module):
        def __init__(self):
            super().__init__()
            self.student = nn.Linear(5, 4)
            self.teacher = copy.deepcopy(self.student).requires_grad_(False)

        def forward(self, x):
            return F.cross_entropy(self.student(x + 0.1), self.teacher(x).softmax(1))

    model, x = Distilled(), torch.randn(12, 5)
    return model, lambda: model(x)
