"""As in forum threads: no step moves the parameter, or the gradient is not the right one."""

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Visit, case


@case("one head per task, in a plain dict", "not trained", "unregistered")
def heads_in_a_dict():
    class Tasks(nn.Module):
        def __init__(self, **sizes):
            super().__init__()
            self.body = nn.Linear(4, 6)
            self.heads = {task: nn.Linear(6, size) for task, size in sizes.items()}  #! -
            #: self.heads = nn.ModuleDict({name: nn.Linear(6, n) for name, n in sizes.items()})

        def forward(self, x):
            hidden = torch.tanh(self.body(x))
            return [head(hidden) for head in self.heads.values()]

    model = Tasks(shape=2, colour=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    shape, colour = model(torch.randn(5, 4))
    label = torch.randint(2, (5,))
    loss = F.cross_entropy(shape, label) + F.cross_entropy(colour, label)
    return Visit(loss, model, model=model, optimizer=optimizer)


def trained_elsewhere(model):
    return {name: torch.randn_like(value) for name, value in model.state_dict().items()}


@case(
    "resumed with `load_state_dict(assign=True)`",
    "not trained",
    ("stale-optimizer", "not-in-optimizer"),
)
def loaded_by_assignment():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  #!
    model.load_state_dict(trained_elsewhere(model), assign=True)  #! -
    #: model.load_state_dict(trained_elsewhere(model))
    loss = F.mse_loss(model(torch.randn(6, 3)), torch.randn(6, 1))
    return Visit(loss, model, model=model, optimizer=optimizer)


@case("weight decay: the group without it is forgotten", "not trained", "not-in-optimizer")
def forgotten_group():
    model = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 1))
    decayed = [p for p in model.parameters() if p.dim() > 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}])  #! -
    #: others = [p for p in model.parameters() if p.dim() <= 1]
    #: groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    #: optimizer = torch.optim.AdamW(groups)
    loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    return Visit(loss, model, model=model, optimizer=optimizer)


@case(
    "a layer made in each forward pass",
    "not trained",
    "new-parameter",
    missed_alone="without the trace nobody knows when the layer was made",
)
def layer_in_forward():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 6)
            #: self.head = nn.Linear(6, 2)

        def forward(self, x):
            hidden = torch.tanh(self.body(x))
            return nn.Linear(hidden.shape[1], 2)(hidden)  #! self.head(hidden)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = F.cross_entropy(model(torch.randn(5, 4)), torch.randint(2, (5,)))
    return Visit(loss, model, model=model, optimizer=optimizer)


@case("softmax, then cross-entropy", "wrong", "double-softmax")
def double_softmax():
    net, x = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)), torch.randn(6, 4)  #: -
    #: net, x = nn.Sequential(nn.Linear(4, 3)), torch.randn(6, 4)
    label = torch.randint(3, (6,))
    loss = F.cross_entropy(net(x), label)  #!
    return Visit(loss, {"0.weight": net[0].weight, "0.bias": net[0].bias})


@case(
    "GAN: the generator's step leaves gradients in the critic",
    "wrong",
    "accumulated",
    missed="the sum in .grad may be meant, as when gradients are accumulated",
)
def gradient_of_another_loss():
    generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    F.softplus(-critic(generator(torch.randn(5, 2)))).mean().backward()  #!
    #: critic.zero_grad()
    fake = generator(torch.randn(5, 2)).detach()
    loss = F.softplus(-critic(torch.randn(5, 3))).mean() + F.softplus(critic(fake)).mean()
    return Visit(loss, {"weight": critic.weight, "bias": critic.bias})


@case("an adapter that was frozen with what it adapts", "none", "frozen")
def adapter_frozen_too():
    base, down, x = nn.Linear(4, 4), nn.Linear(4, 4, bias=False), torch.ones(3, 4)
    model = nn.Sequential(nn.ModuleDict({"base": base, "down": down}), nn.Linear(4, 1))
    model[0].requires_grad_(False)  #! base.requires_grad_(False)
    optimizer = torch.optim.SGD([down.weight, *model[1].parameters()], lr=0.1)
    loss = model[1](base(x) + down(x)).square().sum()
    return Visit(loss, {"w": down.weight}, model=model, optimizer=optimizer)
