"""What tests of the doctor share: leaves, models, trainings, and what watch() says of them."""

import gc

import torch
import torch._dynamo
from torch import nn
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from autograd_surprises import watch


def leaf(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def switches():
    """What the doctor replaces while it is active."""
    return (
        nn.Module.__call__,
        nn.Parameter.__new__,
        nn.Module.__setattr__,
        torch.optim.Optimizer.__init__,
        dict(_global_optimizer_post_hooks),
        dict(_global_optimizer_pre_hooks),
        torch._dynamo.eval_frame._stance.stance,
        torch.overrides._get_current_function_mode_stack(),
    )


def is_recording():
    return bool(torch.overrides._get_current_function_mode_stack())


def network(*sizes):
    layers = [nn.Linear(*pair) for pair in zip(sizes[:-1], sizes[1:], strict=True)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))[:-1]


def sgd_of(*parts, lr=0.1):
    return torch.optim.SGD([p for part in parts for p in part.parameters()], lr=lr)


def train(optimizers, loss_of, steps=4, after=()):
    """One loss for all optimizers."""
    optimizers = optimizers if isinstance(optimizers, list) else [optimizers]
    for step in range(1, steps + 1):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss_of(step).backward()
        for each in [*optimizers, *after]:
            each.step()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8)
        self.drop, self.last = nn.Dropout(0.2), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))


def started(make=Net):
    torch.manual_seed(0)
    model = make()
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def fit(model, optimizer, steps, loss_of=None, at=None):
    """`at` is {step: what happens before it}."""

    def loss(step):
        if at and step in at:
            at[step]()
        y = model(torch.rand(16, 4))
        return loss_of(y, step) if loss_of else y.square().mean()

    train(optimizer, loss, steps)


def watched(loop, **options):
    gc.collect()  # a watch looks for all optimizers
    torch.manual_seed(0)
    with watch(**options) as w:
        kept = loop()  # alive until the end, as the names of a script
    del kept
    return w


def findings(w):
    return [found for each in w.reports for found in each.report.findings]


def alarms(w):
    return [found for found in findings(w) if found.alarming]


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = nn.Linear(4, 4), nn.ModuleDict({n: nn.Linear(4, 1) for n in "ab"})

    def loss(self, name):
        return self.heads[name](self.body(torch.rand(8, 4))).square().mean()


class PlainList(nn.Module):
    """Its parts are in lists of a list, as in https://github.com/pytorch/pytorch/issues/715"""

    def __init__(self, *parts):
        super().__init__()
        self.parts, self.last = [[part] for part in parts], nn.Linear(4, 1)

    def forward(self, x):
        for (part,) in self.parts:
            x = part(x)
        return self.last(x)


class RoundsAtRandom(torch.optim.SGD):
    """Moves a weight by one number of bfloat16 now and then."""

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p += p.abs() * 2**-7 * (torch.rand_like(p) < 0.001) * -p.grad.sign()


class Collocation(nn.Module):
    """The points at which an equation has to hold are an input, with a gradient of its own."""

    def __init__(self):
        super().__init__()
        self.net, self.points = network(1, 4, 1), torch.rand(8, 1, requires_grad=True)

    def loss(self, step):
        y = self.net(self.points)
        (slope,) = torch.autograd.grad(y.sum(), self.points, create_graph=True)
        return (slope + y).square().mean()

    def train_it(self):
        train(sgd_of(self), self.loss)


class Signs(torch.optim.Optimizer):
    """Not torch's own; it forgets the gradients at the end of its step."""

    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p -= 1e-3 * p.grad.sign()
            p.grad = None


class Twice(torch.optim.SGD):
    def step(self, closure=None):
        super().step()
        return super().step(closure)


class Child(nn.Linear):
    """It knows its parent, which nn.Module shall not see."""

    def forward(self, x):
        return super().forward(x) * self.parent[0].scale
