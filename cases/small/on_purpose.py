"""Methods that cut, freeze or round gradients on purpose."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from cases.case import case


@case(normal=[("none", "frozen"), ("zero", "zero-factor")])  # the base; a, while b is 0
def low_rank_adapter():
    class Adapted(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.a = nn.Parameter(torch.randn(base.in_features, 2))
            self.b = nn.Parameter(torch.zeros(2, base.out_features))

        def forward(self, x):
            return self.base(x) + x @ self.a @ self.b

    model = Adapted(nn.Linear(6, 4))
    x, target = torch.randn(10, 6), torch.randn(10, 4)
    return model, lambda: F.mse_loss(model(x), target)


@case(normal=[("ok", "own-function")])  # a reminder: gradcheck is left to you
def own_straight_through():
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * (x.abs() <= 1)

    encoder, decoder = nn.Linear(4, 8), nn.Linear(8, 4)
    x = torch.rand(16, 4)
    model = nn.ModuleList([encoder, decoder])
    return model, lambda: F.mse_loss(decoder(Sign.apply(encoder(x))), x)


@case()
def vector_quantised_autoencoder():
    encoder, decoder, codes = nn.Linear(4, 3), nn.Linear(3, 4), nn.Embedding(8, 3)
    x = torch.randn(10, 4)

    def loss():
        hidden = encoder(x)
        code = codes(torch.cdist(hidden, codes.weight).argmin(1))
        passed = hidden + (code - hidden).detach()
        commitment = F.mse_loss(hidden, code.detach())
        return F.mse_loss(decoder(passed), x) + F.mse_loss(code, hidden.detach()) + commitment / 4

    return nn.ModuleList([encoder, decoder, codes]), loss


@case()
def mixture_of_experts():
    gate = nn.Linear(6, 4)
    experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
    x = torch.randn(32, 6)

    def loss():
        score, chosen = gate(x).topk(2, dim=1)
        share = score.softmax(1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(experts):
            row, rank = torch.where(chosen == number)
            out = out.index_add(0, row, share[row, rank, None] * expert(x[row]))
        return F.mse_loss(out, x.flip(1))

    return nn.ModuleList([gate, experts]), loss


@case()
def clipped_policy():
    policy, critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(4, 1)
    state, reward = torch.randn(16, 4), torch.randn(16)
    with torch.no_grad():
        old = Categorical(logits=policy(state) + torch.randn(16, 2) / 5)
        action = old.sample()
        old = old.log_prob(action)

    def loss():
        value = critic(state).squeeze(1)
        gain = reward - value.detach()
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        new = Categorical(logits=policy(state))
        ratio = (new.log_prob(action) - old).exp()
        clipped = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        return F.mse_loss(value, reward) - clipped - 0.01 * new.entropy().mean()

    return nn.ModuleList([policy, critic]), loss


@case()
def moving_average_teacher():
    student = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4))
    teacher = copy.deepcopy(student).requires_grad_(False)
    x = torch.randn(12, 5)

    def loss():
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
                old.lerp_(new, 0.01)
            target = (teacher(x) * 2).softmax(1)
        return F.cross_entropy(student(x + torch.randn_like(x) / 10), target)

    return student, loss


@case()
def two_views():
    encoder = nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.ELU())
    predictor = nn.Sequential(nn.Linear(8, 4), nn.ELU(), nn.Linear(4, 8))
    x = torch.randn(16, 5)

    def similarity(view, other):
        return F.cosine_similarity(predictor(view), other.detach()).mean()

    def loss():
        one, two = (encoder(x + torch.randn_like(x) / 10) for _ in range(2))
        return -(similarity(one, two) + similarity(two, one)) / 2

    return nn.ModuleList([encoder, predictor]), loss


@case()
def gradients_of_two_halves():
    model = nn.Linear(4, 2)

    def loss():
        """The loss of the second half of a batch: .grad holds the first half's on purpose."""
        halves = torch.randn(2, 8, 4), torch.randn(2, 8, 2)
        first, second = (F.mse_loss(model(x), y) / 2 for x, y in zip(*halves, strict=True))
        first.backward()
        return second

    return model, loss


@case()
def truncated_sequence():
    cell, head = nn.LSTM(3, 6, batch_first=True), nn.Linear(6, 3)
    x, carried = torch.randn(4, 6, 3), []

    def loss():
        states = [state.detach() for state in carried]
        hidden, carried[:] = cell(x[:, :-1], tuple(states) or None)
        return F.mse_loss(head(hidden), x[:, 1:])

    return nn.ModuleList([cell, head]), loss


@case()
def speech():
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
    x, labels = torch.randn(10, 2, 6), torch.randint(1, 5, (2, 4))
    frames, lengths = torch.tensor([10, 8]), torch.tensor([4, 2])
    return model, lambda: F.ctc_loss(model(x).log_softmax(-1), labels, frames, lengths)


@case()
def masked_policy():
    policy = nn.Linear(4, 5)
    state, allowed, reward = torch.randn(8, 4), torch.rand(8, 5) > 0.3, torch.randn(8)
    allowed[:, 0] = True

    def loss():
        choice = Categorical(logits=policy(state).masked_fill(~allowed, -torch.inf))
        action = choice.sample()
        return -(choice.log_prob(action) * reward).mean() - 0.01 * choice.entropy().mean()

    return policy, loss


# ---- A gradient of 0 or nearly 0 that is meant


class Residual(nn.Module):
    """x + scale * branch(x)"""

    def __init__(self, branch, scale=None):
        super().__init__()
        self.branch, self.scale = branch, scale if scale is None else nn.Parameter(scale)

    def forward(self, x):
        branch = self.branch(x)
        return x + (branch if self.scale is None else branch * self.scale)


def classified(*blocks, shape=(6, 3, 8, 8), channels=8):
    stem, head = nn.Conv2d(3, channels, 3, bias=False), nn.Linear(channels, 4)
    model = nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    x, target = torch.randn(shape), torch.randint(4, shape[:1])
    return model, lambda: F.cross_entropy(model(x), target)


def branch():
    return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))  # fmt: skip


@case(normal=[("zero", "zero-factor")])
def residual_blocks_that_start_as_the_identity():
    """zero_init_residual of torchvision's ResNet."""
    blocks = [Residual(branch()) for _ in range(3)]
    for block in blocks:
        nn.init.zeros_(block.branch[-1].weight)
    return classified(*blocks)


@case(normal=[("zero", "zero-factor")])
def skip_gain():
    """The gain of a normaliser-free network."""
    return classified(*(Residual(branch(), torch.zeros(())) for _ in range(3)))


@case(normal=[("tiny", "small-factor")])
def layer_scale():
    """As in ConvNeXt and CaiT."""
    return classified(*(Residual(branch(), torch.full((8, 1, 1), 1e-6)) for _ in range(3)))


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
