"""Graph networks, physics, differential equations, probabilities, spikes, quantization."""

import torch
import torchsde
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import (
    GAE,
    GAT,
    GCN,
    GIN,
    VGAE,
    GCNConv,
    GraphSAGE,
    SchNet,
    global_add_pool,
)
from torchdiffeq import odeint, odeint_adjoint

from cases.case import Step, case

PYG = "https://github.com/pyg-team/pytorch_geometric/blob/master/examples/"


def adam(model, lr=0.01):
    return torch.optim.Adam(model.parameters(), lr=lr)


def graph():
    """Twenty nodes with features and labels; the last three have no edge."""
    return torch.randn(20, 8), torch.randint(0, 17, (2, 50)), torch.randint(0, 4, (20,))


@case(library="torch_geometric", source=PYG + "gcn.py")
def gcn_few_labels():
    """Only a few nodes have a label in training."""
    x, edges, labels = graph()
    train = torch.arange(20) < 6
    model = GCN(8, 16, num_layers=2, out_channels=4, dropout=0.5)

    def compute():
        return F.cross_entropy(model(x, edges)[train], labels[train])

    return Step(model, compute, adam(model))


@case(library="torch_geometric", source=PYG + "gat.py")
def gat_nodes():
    x, edges, labels = graph()
    train = torch.rand(20) < 0.5
    model = GAT(8, 16, num_layers=2, out_channels=4, heads=4, dropout=0.6, act="elu")

    def compute():
        return F.cross_entropy(model(x, edges)[train], labels[train])

    return Step(model, compute, adam(model, lr=0.005))


@case(library="torch_geometric", source=PYG + "mutag_gin.py")
def gin_whole_graphs():
    x, edges, _ = graph()
    graphs, labels = torch.arange(20) // 5, torch.tensor([0, 1, 1, 0])
    model = nn.ModuleDict({"gin": GIN(8, 16, num_layers=3, norm="batch_norm")})
    model["head"] = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))

    def compute():
        pooled = global_add_pool(model["gin"](x, edges), graphs)
        return F.cross_entropy(model["head"](pooled), labels)

    return Step(model, compute, adam(model))


@case(library="torch_geometric", source=PYG + "graph_sage_unsup.py")
def sage_without_labels():
    x, edges, _ = graph()
    model = GraphSAGE(8, hidden_channels=16, num_layers=2)

    def compute():
        h = model(x, edges)
        pairs = torch.cat([edges, torch.randint(0, 20, (2, 50))], dim=1)
        scores = (h[pairs[0]] * h[pairs[1]]).sum(dim=-1)
        linked = torch.cat([torch.ones(50), torch.zeros(50)])
        return F.binary_cross_entropy_with_logits(scores, linked)

    return Step(model, compute, adam(model))


class Encoder(nn.Module):
    """The encoder of examples/autoencoder.py: two layers, the second one for mean and width."""

    def __init__(self, variational):
        super().__init__()
        self.first, self.mean = GCNConv(8, 16), GCNConv(16, 4)
        self.width = GCNConv(16, 4) if variational else None

    def forward(self, x, edges):
        x = self.first(x, edges).relu()
        return (self.mean(x, edges), self.width(x, edges)) if self.width else self.mean(x, edges)


@case(library="torch_geometric", source=PYG + "autoencoder.py")
def graph_autoencoder():
    x, edges, _ = graph()
    model = GAE(Encoder(variational=False))
    others = torch.randint(0, 20, (2, 50))
    return Step(model, lambda: model.recon_loss(model.encode(x, edges), edges, others), adam(model))


@case(library="torch_geometric", source=PYG + "autoencoder.py")
def variational_graph_autoencoder():
    x, edges, _ = graph()
    others = torch.randint(0, 20, (2, 50))
    model = VGAE(Encoder(variational=True))

    def compute():
        z = model.encode(x, edges)
        return model.recon_loss(z, edges, others) + model.kl_loss() / 20

    return Step(model, compute, adam(model))


@case(
    library="torch_geometric",
    source="https://pytorch-geometric.readthedocs.io/en/latest/generated/torch_geometric.nn.models.SchNet.html",
)
def schnet_energies_and_forces():
    """The forces are the gradient of the energy, and part of the loss."""
    atoms, molecules = torch.tensor([8, 1, 1, 6, 1, 1, 8]), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    place, energies, forces = torch.randn(7, 3), torch.randn(2, 1), torch.randn(7, 3)

    def pairs(place, molecules):
        near = molecules[:, None] == molecules[None, :]
        edges = (near & ~torch.eye(7, dtype=torch.bool)).nonzero().T
        return edges, (place[edges[0]] - place[edges[1]]).norm(dim=-1)

    model = SchNet(16, 16, num_interactions=2, num_gaussians=10, interaction_graph=pairs)

    def compute():
        pos = place.clone().requires_grad_()
        energy = model(atoms, pos, molecules)
        (gradient,) = torch.autograd.grad(energy.sum(), pos, create_graph=True)
        return F.mse_loss(energy, energies) + 10 * F.mse_loss(-gradient, forces)

    return Step(model, compute, adam(model, lr=1e-3))


@case(
    library="torchdiffeq",
    source="https://github.com/rtqichen/torchdiffeq/blob/master/examples/ode_demo.py",
)
def neural_ode():
    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
    start, times, truth = torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 8), torch.randn(8, 1, 2)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)

    def compute():
        path = odeint(lambda t, y: net(y**3), start, times)
        return (path - truth).abs().mean()

    return Step(net, compute, optimizer)


class Field(nn.Module):
    """The right side of the equation: `odeint_adjoint` looks for its parameters."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        return self.net(y**3)


@case(library="torchdiffeq", source="https://github.com/rtqichen/torchdiffeq#usage")
def neural_ode_adjoint():
    field, start, times = Field(), torch.randn(3, 2), torch.linspace(0, 1, 4)
    truth = torch.randn(4, 3, 2)

    def compute():
        return F.mse_loss(odeint_adjoint(field, start, times, method="rk4"), truth)

    return Step(field, compute, adam(field))


class Diffusion(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return torch.sigmoid(self.sigma(y))


@case(library="torchsde", source="https://github.com/google-research/torchsde#quick-example")
def neural_sde():
    sde, start, truth = Diffusion(), torch.full((8, 3), 0.1), torch.randn(8, 3)
    times = torch.linspace(0, 1, 5)

    def compute():
        seed = int(torch.randint(1 << 31, ()))  # else numpy's generator draws it
        noise = torchsde.BrownianInterval(0.0, 1.0, size=(8, 3), entropy=seed)
        path = torchsde.sdeint(sde, start, times, bm=noise, method="euler", dt=0.1)
        return F.mse_loss(path[-1], truth)

    return Step(sde, compute, adam(sde))
