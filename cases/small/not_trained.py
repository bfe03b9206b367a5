"""The gradient is right, but no step of the optimizer moves the parameter."""

import torch
from torch import nn

from cases.case import Visit, case


@case("parameters in a plain Python list", "not trained", "unregistered")
def plain_list():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 1)
            self.scales = [nn.Parameter(torch.ones(3)) for _ in range(2)]  #! -
            #: self.scales = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(2)])

        def forward(self, x):
            for scale in self.scales:
                x = x * scale
            return self.head(x)

    model = Scaled()
    loss = model(torch.ones(4, 3)).sum()
    return Visit(loss, model, model=model)


@case("a parameter moved before it is registered", "not trained", "unregistered")
def moved_parameter():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 1)
            scale = nn.Parameter(torch.ones(3, dtype=torch.float64))
            self.scale = scale.to(torch.float32)  #! nn.Parameter(scale.to(torch.float32))

        def forward(self, x):
            return self.head(x * self.scale)

    model = Scaled()
    loss = model(torch.ones(4, 3)).sum()
    return Visit(loss, model, model=model)


@case(
    "a layer replaced after the optimizer was built",
    "not trained",
    ("not-in-optimizer", "stale-optimizer"),
    also=("unused",),
)
def layer_replaced():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    #: model[2] = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  #!
    model[2] = nn.Linear(3, 2)  #! -
    loss = model(torch.ones(4, 2)).sum()
    return Visit(loss, optimizer, model=model, optimizer=optimizer)
