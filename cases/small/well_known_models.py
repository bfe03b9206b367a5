"""Well-known models that need torch only, as their authors wrote them."""

import copy

import torch
from torch import nn
from torch.distributions import Categorical
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from cases.case import Step, case


class Tagger(nn.Module):
    def __init__(self, words=50, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(words, 16, padding_idx=0)
        self.gru = nn.GRU(16, 16, num_layers=2, dropout=0.2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(32, tags)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.out(hidden)


@case(source="https://docs.pytorch.org/tutorials/beginner/nlp/sequence_models_tutorial.html")
def gru_tagger_with_padding():
    model = Tagger()
    lengths = torch.tensor([9, 4, 7, 2])
    padding = torch.arange(9) >= lengths[:, None]
    words = torch.randint(1, 50, (4, 9)).masked_fill(padding, 0)
    tags = torch.randint(5, (4, 9)).masked_fill(padding, -100)

    def compute():
        return F.cross_entropy(model(words, lengths).transpose(1, 2), tags)

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-2))


class DLRM(nn.Module):
    """Bags of categories and a few numbers; a pair of features counts by its dot product."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, 8, mode="sum", sparse=True) for n in (30, 90))
        self.bottom = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(11, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers, bags):
        dense = self.bottom(numbers)
        looked_up = [layer(*bag) for layer, bag in zip(self.bags, bags, strict=True)]
        parts = torch.stack([dense, *looked_up], dim=1)
        i, j = torch.tril_indices(3, 3, offset=-1)
        pairs = (parts @ parts.transpose(1, 2))[:, i, j]
        return self.top(torch.cat([dense, pairs], dim=1)).squeeze(1)


@case(source="https://github.com/facebookresearch/dlrm/blob/main/dlrm_s_pytorch.py")
def dlrm_sparse_bags():
    """Sparse gradients, rows that are not looked up, and one bag that is empty."""
    model, numbers = DLRM(), torch.rand(6, 4)
    offsets = torch.tensor([0, 3, 3, 7, 9, 12])
    bags = [(torch.randint(0, n, (16,)), offsets) for n in (30, 90)]
    clicked = (torch.rand(6) < 0.5).float()

    def compute():
        return F.binary_cross_entropy_with_logits(model(numbers, bags), clicked)

    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.1))


@case(source="https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html")
def matrix_factorization():
    """Ratings of few users for few items; the biases start at 0."""
    model = nn.ModuleDict({"user": nn.Embedding(50, 8, sparse=True)})
    model["item"] = nn.Embedding(80, 8, sparse=True)
    model["bias"] = nn.Embedding(80, 1, sparse=True)
    nn.init.zeros_(model["bias"].weight)
    users, items, stars = torch.randint(50, (12,)), torch.randint(80, (12,)), torch.rand(12) * 5

    def compute():
        match = (model["user"](users) * model["item"](items)).sum(1)
        return F.mse_loss(match + model["bias"](items).squeeze(1), stars)

    return Step(model, compute, torch.optim.SparseAdam(list(model.parameters()), lr=0.01))


@case(source="https://github.com/pytorch/examples/blob/main/reinforcement_learning/reinforce.py")
def reinforce_cartpole():
    policy = nn.Sequential(
        nn.Linear(4, 128), nn.Dropout(p=0.6), nn.ReLU(), nn.Linear(128, 2), nn.Softmax(dim=1)
    )
    states, rewards = torch.randn(20, 4), torch.ones(20)
    returns = rewards.flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)

    def compute():
        log_probs = []
        for state in states:
            chances = Categorical(policy(state.unsqueeze(0)))
            log_probs.append(-chances.log_prob(chances.sample()))
        return (torch.cat(log_probs) * returns).sum()

    return Step(policy, compute, torch.optim.Adam(policy.parameters(), lr=1e-2))


@case(source="https://docs.pytorch.org/docs/stable/generated/torch.func.functional_call.html")
def maml_inner_loop():
    """Sine waves: one step of gradient descent on a task, then the loss of what came out."""
    hidden = nn.Linear(40, 40)
    model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), hidden, nn.ReLU(), nn.Linear(40, 1))
    x, phase = torch.rand(2, 10, 1) * 10 - 5, 0.7

    def compute():
        weights = dict(model.named_parameters())
        loss = F.mse_loss(functional_call(model, weights, x[0]), torch.sin(x[0] + phase))
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {n: w - 0.01 * g for (n, w), g in zip(weights.items(), grads, strict=True)}
        return F.mse_loss(functional_call(model, weights, x[1]), torch.sin(x[1] + phase))

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))


class NeRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(15, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.density, self.colour = nn.Linear(32, 1), nn.Linear(32, 3)

    def forward(self, points):
        waves = [f(2**k * points) for k in range(2) for f in (torch.sin, torch.cos)]
        hidden = self.body(torch.cat([points, *waves], dim=-1))
        return self.density(hidden).squeeze(-1).relu(), self.colour(hidden).sigmoid()


@case(source="https://github.com/yenchenlin/nerf-pytorch/blob/master/run_nerf.py")
def radiance_field():
    """Colours along a ray, weighted by what light comes through; density is a relu."""
    model, depth = NeRF(), torch.linspace(2, 6, 16)
    origins, colours = torch.randn(12, 1, 3), torch.rand(12, 3)
    directions = F.normalize(torch.randn(12, 1, 3), dim=-1)

    def compute():
        density, colour = model(origins + directions * depth[None, :, None])
        alpha = 1 - torch.exp(-density * (depth[1] - depth[0]))
        clear = torch.cumprod(torch.cat([torch.ones(12, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        seen = ((alpha * clear).unsqueeze(-1) * colour).sum(dim=1)
        return F.mse_loss(seen, colours)

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=5e-4))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 100)
        self.fc21, self.fc22 = nn.Linear(100, 20), nn.Linear(100, 20)
        self.fc3, self.fc4 = nn.Linear(20, 100), nn.Linear(100, 784)

    def forward(self, x):
        hidden = F.relu(self.fc1(x))
        mu, logvar = self.fc21(hidden), self.fc22(hidden)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


@case(source="https://github.com/pytorch/examples/blob/main/vae/main.py")
def variational_autoencoder():
    model = VAE()
    digits = (torch.rand(16, 784) - 0.8).clamp(min=0) * 5  # most pixels of a digit are 0

    def compute():
        reconstructed, mu, logvar = model(digits)
        bce = F.binary_cross_entropy(reconstructed, digits, reduction="sum")
        return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=1e-3))


@case(source="https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html")
def dqn_with_a_target_network():
    policy_net = nn.Sequential(
        nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )
    target_net = copy.deepcopy(policy_net)
    states, next_states = torch.randn(32, 4), torch.randn(32, 4)
    actions, rewards = torch.randint(2, (32, 1)), torch.ones(32)
    non_final = torch.rand(32) > 0.1
    criterion = nn.SmoothL1Loss()
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=3e-4, amsgrad=True)

    def compute():
        values = policy_net(states).gather(1, actions)
        next_values = torch.zeros(32)
        with torch.no_grad():
            next_values[non_final] = target_net(next_states[non_final]).max(1).values
        expected = next_values * 0.99 + rewards
        return criterion(values, expected.unsqueeze(1))

    return Step(policy_net, compute, optimizer)
