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
def masked_policy():
    policy = nn.Linear(4, 5)
    state, allowed, reward = torch.randn(8, 4), torch.rand(8, 5) > 0.3, torch.randn(8)
    allowed[:, 0] = True

    def loss():
        choice = Categorical(logits=policy(state).masked_fill(~allowed, -torch.inf))
        action = choice.sample()
        return -(choice.log_prob(action) * reward).mean() - 0.01 * choice.entropy().mean()

    return policy, loss


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
