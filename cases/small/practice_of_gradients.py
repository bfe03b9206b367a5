"""Training steps of published methods that clip, share, skip or stop some gradients."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case
from cases.small.practice import network


@case(source="https://github.com/facebookresearch/simsiam/blob/main/simsiam/builder.py")
def simsiam():
    encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
    predictor = network(8, 4, 8)
    one, other = torch.randn(16, 8), torch.randn(16, 8)

    def compute():
        z1, z2 = encoder(one), encoder(other)
        pairs = (predictor(z1), z2.detach()), (predictor(z2), z1.detach())
        return -sum(F.cosine_similarity(p, z).mean() for p, z in pairs) / 2

    model = nn.ModuleList([encoder, predictor])
    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))


@case(source="https://github.com/tensorflow/mesh/blob/master/mesh_tensorflow/transformer/moe.py")
def switch_layer_with_idle_experts():
    class Switch(nn.Module):
        def __init__(self, width=8, experts=8):
            super().__init__()
            self.router = nn.Linear(width, experts)
            self.experts = nn.ModuleList([network(width, 16, width) for _ in range(experts)])

        def forward(self, x):
            probabilities = self.router(x).softmax(-1)
            gate, chosen = probabilities.max(-1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                own = (chosen == i).nonzero().squeeze(-1)
                out = out.index_add(0, own, gate[own, None] * expert(x[own]))
            share = F.one_hot(chosen, len(self.experts)).float().mean(0)
            return x + out, len(self.experts) * (share * probabilities.mean(0)).sum()

    model, head, x, y = Switch(), nn.Linear(8, 3), torch.randn(5, 8), torch.randint(3, (5,))
    whole = nn.ModuleList([model, head])

    def compute():
        out, balance = model(x)
        return F.cross_entropy(head(out), y) + 0.01 * balance

    return Step(whole, compute, torch.optim.AdamW(whole.parameters()))


@case(source="https://github.com/openai/iaf/blob/master/tf_train.py")
def free_bits():
    encoder, decoder = network(6, 12, 8), network(4, 12, 6)
    x = torch.randn(16, 6)

    def compute():
        mean, log_var = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (log_var / 2).exp()
        divergence = (mean.square() + log_var.exp() - 1 - log_var) / 2
        return F.mse_loss(decoder(z), x) + divergence.mean(0).clamp(min=0.1).sum()

    model = nn.ModuleList([encoder, decoder])
    return Step(model, compute, torch.optim.Adamax(model.parameters()))


@case(source="https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/ppo.py")
def ppo_first_epoch():
    actor, critic = network(4, 16, 3, act=nn.Tanh), network(4, 16, 1, act=nn.Tanh)
    states, actions = torch.randn(32, 4), torch.randint(3, (32,))
    returns = torch.randn(32)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=actor(states)).log_prob(actions)
        values = critic(states).view(-1)
        advantages = returns - values

    def compute():
        policy = torch.distributions.Categorical(logits=actor(states))
        ratio = (policy.log_prob(actions) - old).exp()
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        of_policy = torch.max(-scaled * ratio, -scaled * ratio.clamp(0.8, 1.2)).mean()
        value = critic(states).view(-1)
        clipped = values + (value - values).clamp(-0.2, 0.2)
        of_value = torch.max((value - returns) ** 2, (clipped - returns) ** 2).mean() / 2
        return of_policy - 0.01 * policy.entropy().mean() + 0.5 * of_value

    model = nn.ModuleList([actor, critic])
    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=2.5e-4, eps=1e-5))


@case(source="https://github.com/UKPLab/sentence-transformers")
def pooled_sentences_one_empty():
    model = nn.Sequential(nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 8, bias=False))
    one, other = torch.randint(1, 30, (6, 5)), torch.randint(1, 30, (6, 5))
    one[0], other[1, 3:] = 0, 0

    def embed(words):
        mask = (words > 0).float().unsqueeze(-1)
        pooled = (model(words) * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return F.normalize(pooled, p=2, dim=1)

    def compute():
        return F.cross_entropy(20 * embed(one) @ embed(other).T, torch.arange(6))

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=2e-5))


@case(source="https://pytorch.org/docs/stable/notes/amp_examples.html")
def scaled_and_accumulated():
    model = network(6, 16, 3)
    scaler = torch.amp.GradScaler("cpu")
    parts = [(torch.randn(4, 6), torch.randint(3, (4,))) for _ in range(3)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def compute():
        for x, y in parts[:-1]:
            scaler.scale(F.cross_entropy(model(x), y) / 3).backward()
        x, y = parts[-1]
        return scaler.scale(F.cross_entropy(model(x), y) / 3)

    return Step(model, compute, optimizer)


@case(source="https://github.com/kuangliu/pytorch-retinanet/blob/master/loss.py")
def focal_loss_with_few_boxes():
    body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(True))
    classes, boxes = nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
    nn.init.constant_(classes.bias, -math.log(99))
    x, target = torch.randn(2, 3, 8, 8), torch.zeros(2, 64, dtype=torch.long)
    target[0, 5], target[0, 6] = 2, -1  # the second image has none; -1 is ignored
    where = torch.randn(2, 64, 4)

    def compute():
        hidden = body(x)
        scores, places = (head(hidden).flatten(2).transpose(1, 2) for head in (classes, boxes))
        positive, counted = target > 0, target > -1
        total = positive.sum().clamp(min=1)
        hot = F.one_hot(target[counted], 5)[:, 1:].float()
        p = scores[counted].sigmoid()
        weight = (0.25 * hot + 0.75 * (1 - hot)) * (p * (1 - hot) + (1 - p) * hot).pow(2)
        loss = F.binary_cross_entropy_with_logits(
            scores[counted], hot, weight.detach(), reduction="sum"
        )
        return (loss + F.smooth_l1_loss(places[positive], where[positive], reduction="sum")) / total

    model = nn.ModuleList([body, classes, boxes])
    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))


@case(source="https://github.com/theeluwin/pytorch-sgns/blob/master/model.py")
def skip_gram():
    class Bundle(nn.Module):
        def __init__(self, size=30, width=8):
            super().__init__()
            self.ivectors = nn.Embedding(size, width, padding_idx=0, sparse=True)
            self.ovectors = nn.Embedding(size, width, padding_idx=0, sparse=True)
            start = torch.FloatTensor(size - 1, width).uniform_(-0.5 / width, 0.5 / width)
            self.ivectors.weight = nn.Parameter(torch.cat([torch.zeros(1, width), start]))
            self.ovectors.weight = nn.Parameter(torch.cat([torch.zeros(1, width), start.flip(0)]))

        def forward(self, words, context, others):
            of_words = self.ivectors(words).unsqueeze(2)
            near = torch.bmm(self.ovectors(context), of_words).squeeze().sigmoid().log().mean(1)
            far = torch.bmm(self.ovectors(others).neg(), of_words).squeeze().sigmoid().log()
            return -(near + far.view(-1, 3, 4).sum(2).mean(1)).mean()

    model = Bundle()
    words, context = torch.randint(1, 30, (6,)), torch.randint(1, 30, (6, 3))
    others = torch.randint(1, 30, (6, 12))
    context[0, 2] = 0
    optimizer = torch.optim.SparseAdam(list(model.parameters()))
    return Step(model, lambda: model(words, context, others), optimizer)


@case(source="https://github.com/adambielski/siamese-triplet/blob/master/losses.py")
def triplets_with_few_active():
    model = network(4, 16, 3)
    centres = torch.tensor([[6.0, 0, 0, 0], [-6.0, 0, 0, 0], [-6.0, 0.1, 0, 0]])
    y = torch.arange(12) % 3
    x = centres[y] + 0.1 * torch.randn(12, 4)

    def compute():
        out = F.normalize(model(x))
        distances = (out.unsqueeze(1) - out.unsqueeze(0)).square().sum(-1)
        same = y.unsqueeze(1) == y
        hardest = (distances * same).max(1).values
        nearest = distances.masked_fill(same, math.inf).min(1).values
        return F.relu(hardest - nearest + 0.05).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters()))
