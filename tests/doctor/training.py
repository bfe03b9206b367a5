"""What the tests of the doctor share: leaves, small trainings, and what watch() says of them."""

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
