"""The gradient is zero, partly zero or tiny, as in forum threads."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal

from cases.case import Visit, case


@case("experts, top 1: softmax after `topk`", "zero", "softmax-of-one")
def one_expert():
    class Top1(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 3, bias=False)
            self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

        def shares(self, scores):
            best, index = scores.topk(1, dim=1)  #: scores.softmax(1).topk(1, dim=1)
            return torch.zeros_like(scores).scatter(1, index, best.softmax(1))  #! -
            #: return torch.zeros_like(scores).scatter(1, index, best)

        def forward(self, x):
            share = self.shares(self.gate(x))
            out = torch.stack([expert(x) for expert in self.experts], dim=1)
            return (share[..., None] * out).sum(1)

    model = Top1()
    loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 4))
    return Visit(loss, {"gate.weight": model.gate.weight}, model=model)


@case("a warped image, sampled with `nearest`", "zero", "staircase")
def warp_to_the_nearest_pixel():
    class Warp(nn.Module):
        def __init__(self):
            super().__init__()
            self.theta = nn.Parameter(torch.tensor([[[1.0, 0.1, 0.05], [0.0, 0.9, 0.1]]]))

        def forward(self, image):
            grid = F.affine_grid(self.theta, image.shape, align_corners=False)
            return F.grid_sample(image, grid, mode="nearest", align_corners=False)  #! -
            #: return F.grid_sample(image, grid, mode="bilinear", align_corners=False)

    model = Warp()
    loss = F.mse_loss(model(torch.rand(1, 1, 4, 4)), torch.rand(1, 1, 4, 4))
    return Visit(loss, {"theta": model.theta}, model=model)


@case("soft-argmax with a factor of 1000", "zero", "saturated")
def soft_argmax():
    head = nn.Conv1d(1, 1, 3)
    nn.init.ones_(head.weight)
    heat = head(torch.rand(2, 1, 9).add(1).cumsum(-1))
    share = torch.softmax(heat * 1000, dim=-1)  #! torch.softmax(heat / 10, dim=-1)
    loss = F.mse_loss((share * torch.arange(7.0)).sum(-1), torch.rand(2, 1))
    return Visit(loss, {"weight": head.weight})


@case("REINFORCE with `rsample()`: the mean cancels", "zero", "cancel")
def policy_with_rsample():
    policy, reward = nn.Linear(4, 2), torch.randn(6, 1)
    choice = Normal(policy(torch.randn(6, 4)), 0.5)
    action = choice.rsample()  #! choice.sample()
    loss = -(choice.log_prob(action) * reward).mean()  #!
    return Visit(loss, {"weight": policy.weight, "bias": policy.bias})


class Trainer:
    """A second loss, whose weight grows from 0 to 1 in the first epochs."""

    def __init__(self, epoch):
        self.body, self.head, self.second = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(6, 4)
        self.weight = min(1.0, epoch / 10)

    def losses(self, x, label):
        hidden = torch.tanh(self.body(x))
        yield F.cross_entropy(self.head(hidden), label)
        yield F.mse_loss(self.second(hidden), x)


@case("a warm-up gives the second loss no weight yet", "zero", "zero-factor")
def warm_up():
    trainer = Trainer(epoch=0)  #: Trainer(epoch=1)
    first, second = trainer.losses(torch.randn(8, 4), torch.randint(2, (8,)))
    loss = first + trainer.weight * second  #!
    return Visit(loss, dict(trainer.second.named_parameters()))


@case("PPO: every ratio is clipped", "zero", ("not-picked", "outside-range"))
def ppo_all_clipped():
    policy, action, gain = nn.Linear(3, 2), torch.tensor([0, 1, 0, 1, 1, 0]), torch.rand(6)
    old = torch.full((6,), -4.0)  # from a policy of long ago
    new = Categorical(logits=policy(torch.rand(6, 3))).log_prob(action)
    #: old = new.detach()
    ratio = torch.exp(new - old)
    clipped = ratio.clamp(0.8, 1.2)  #!
    loss = -torch.min(ratio * gain, clipped * gain).mean()  #!
    return Visit(loss, {"weight": policy.weight, "bias": policy.bias})


@case("the first of 60 time steps", "tiny", "shrinks")
def long_sequence():
    cell, first = nn.RNNCell(4, 4), torch.randn(1, 3, 4, requires_grad=True)
    cell.weight_hh.data /= 2
    state = torch.zeros(3, 4)
    for x in torch.cat([first, torch.randn(59, 3, 4)]):  #: for x in first:
        state = cell(x, state)  #!
    loss = F.cross_entropy(state, torch.tensor([0, 1, 1]))
    return Visit(loss, {"first": first})


@case(
    "invalid pixels are overwritten with 0",
    "partial",
    "not-picked",
    missed="an abs of equal values is met first, and its zeros hide the overwriting",
)
def invalid_pixels():
    depth, target = torch.rand(4, 4).add(1).requires_grad_(), torch.randn(4, 4)
    shown = depth.clone()
    shown[target <= 0] = 0  #! loss = F.l1_loss(depth, target.clamp(min=0))
    loss = F.l1_loss(shown, target.clamp(min=0))
    return Visit(loss, {"depth": depth})


@case("PINN: the curvature of a network with `relu`", "zero", "second-derivative")
def curvature_of_relu():
    x = torch.linspace(0, 1, 12)[:, None].requires_grad_()
    net = nn.Sequential(nn.Linear(1, 6), nn.ReLU(), nn.Linear(6, 1))  #: -
    #: net = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x, create_graph=True)  #!
    loss = (curvature + 1).pow(2).mean()
    return Visit(loss, {"0.bias": net[0].bias})


@case("the area of an overlap that two clamps made 0", "zero", ("zero-factor", "outside-range"))
def overlap_of_none():
    box = torch.tensor([[0.0, 0.0, 1.0, 1.0]], requires_grad=True)
    target = torch.tensor([[4.0, 4.0, 5.0, 5.0]])  #: torch.tensor([[0.5, 0.5, 1.5, 1.5]])
    sides = torch.minimum(box[:, 2:], target[:, 2:]) - torch.maximum(box[:, :2], target[:, :2])
    loss = 1 - sides.clamp(min=0).prod(-1).mean()  #!
    return Visit(loss, {"box": box})


@case("the union under an intersection of 0", "zero", "zero-factor")
def divisor_of_zeros():
    union = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = (torch.zeros(2) / union).sum()  #! (torch.ones(2) / union).sum()
    return Visit(loss, {"union": union})
