"""Training steps of published methods that scale, reverse, share or add up gradients."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal

from cases.case import Step, case
from cases.small.practice import network


@case(source="https://github.com/google-research/bert/blob/master/run_pretraining.py")
def masked_language_model():
    class Bert(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.words = nn.Embedding(25, width, padding_idx=0)
            self.places, self.types = nn.Embedding(16, width), nn.Embedding(2, width)
            self.norm = nn.LayerNorm(width)
            self.layer = nn.TransformerEncoderLayer(width, 2, 24, 0.1, batch_first=True)
            self.bias = nn.Parameter(torch.zeros(25))

        def forward(self, words):
            x = self.words(words) + self.places(torch.arange(words.shape[1])) + self.types.weight[0]
            hidden = self.layer(self.norm(x), src_key_padding_mask=words == 0)
            return hidden @ self.words.weight.T + self.bias

    model, words = Bert(), torch.randint(2, 25, (4, 10))
    words[0, 7:] = 0
    labels = torch.full_like(words, -100)
    labels[:, 2:4] = words[:, 2:4]
    words[:, 2:4] = 1

    def compute():
        return F.cross_entropy(model(words).view(-1, 25), labels.view(-1))

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4))


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


@case(source="https://pytorch.org/tutorials/intermediate/parametrizations.html")
def orthogonal_and_symmetric_weights():
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    model = nn.Sequential(orthogonal(nn.Linear(5, 5)), nn.Tanh(), nn.Linear(5, 5))
    parametrize.register_parametrization(model[2], "weight", Symmetric())
    x = torch.randn(8, 5)
    return Step(
        model, lambda: F.mse_loss(model(x), x.flip(1)), torch.optim.Adam(model.parameters())
    )


@case(
    source="https://github.com/fungtion/DANN/blob/master/models/functions.py",
    normal=[("ok", "own-function")],
)
def reversed_domain_gradient():
    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return gradient.neg() * ctx.alpha, None

    feature, labels, domains = network(6, 16, 8), network(8, 3), network(8, 2)
    source, y, target = torch.randn(8, 6), torch.randint(3, (8,)), torch.randn(8, 6)

    def compute():
        one, other = feature(source), feature(target)
        which = torch.arange(2).repeat_interleave(8)
        guess = domains(Reversed.apply(torch.cat([one, other]), 0.2))
        return F.cross_entropy(labels(one), y) + F.cross_entropy(guess, which)

    model = nn.ModuleList([feature, labels, domains])
    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(source="https://github.com/openai/guided-diffusion/blob/main/guided_diffusion/nn.py")
def gradients_scaled_by_hooks():
    model = network(6, 16, 16, 2, act=nn.SiLU)
    model[4].register_full_backward_hook(lambda m, into, out: None)
    for parameter in model[2].parameters():
        parameter.register_hook(lambda g: g.clamp(-1, 1) * 0.1)
    x, y = torch.randn(8, 6), torch.randint(2, (8,))

    def compute():
        hidden = model[:4](x)
        hidden.register_hook(lambda g: g / (g.norm() + 1e-6))
        return F.cross_entropy(model[4](hidden), y)

    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.1))


@case(source="https://github.com/facebookresearch/dino/blob/main/main_dino.py")
def dino():
    def head():
        last = torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 12, bias=False))
        last.parametrizations.weight.original0.data.fill_(1)
        last.parametrizations.weight.original0.requires_grad = False
        return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 6)), last

    def apply(parts, x):
        return parts[1](F.normalize(parts[0](x), dim=-1))

    student, teacher = nn.ModuleList(head()), nn.ModuleList(head())
    teacher.load_state_dict(student.state_dict())
    teacher.requires_grad_(False)
    centre, views = torch.zeros(1, 12), [torch.randn(8, 8) for _ in range(4)]

    def compute():
        out = [apply(student, view) / 0.1 for view in views]
        with torch.no_grad():
            targets = [((apply(teacher, v) - centre) / 0.04).softmax(-1) for v in views[:2]]
        terms = [
            torch.sum(-q * out[v].log_softmax(-1), dim=-1).mean()
            for i, q in enumerate(targets) for v in range(4) if v != i
        ]  # fmt: skip
        centre.mul_(0.9).add_(0.1 * sum(targets).mean(0, keepdim=True) / 2)
        return sum(terms) / len(terms)

    return Step(
        student, compute, torch.optim.AdamW([p for p in student.parameters() if p.requires_grad])
    )


@case(source="https://github.com/facebookresearch/vicreg/blob/main/main_vicreg.py")
def variance_and_covariance():
    backbone = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(True), nn.Linear(16, 6))
    with torch.no_grad():
        backbone[3].weight[:3] *= 8  # the hinge of these is not active
    images = torch.randn(24, 8)

    def compute():
        x, y = backbone(images + 0.1 * torch.randn(24, 8)), backbone(images)
        closeness = F.mse_loss(x, y)
        x, y = x - x.mean(dim=0), y - y.mean(dim=0)
        spread = sum(F.relu(1 - (z.var(dim=0) + 1e-4).sqrt()).mean() / 2 for z in (x, y))
        off = [(z.T @ z / 23).flatten()[:-1].view(5, 7)[:, 1:].pow(2).sum() / 6 for z in (x, y)]
        return 25 * closeness + 25 * spread + sum(off)

    return Step(backbone, compute, torch.optim.SGD(backbone.parameters(), lr=0.05))


@case(source="https://github.com/tkipf/pygcn/blob/master/pygcn/models.py")
def graph_convolutions():
    class Layer(nn.Module):
        def __init__(self, n, out):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(n, out).uniform_(-(out**-0.5), out**-0.5))
            self.bias = nn.Parameter(torch.empty(out).uniform_(-(out**-0.5), out**-0.5))

        def forward(self, x, adjacency):
            return torch.spmm(adjacency, x @ self.weight) + self.bias

    dense = (torch.rand(20, 20) < 0.15).float()
    dense[7] = dense[:, 7] = 0  # a node without a neighbour
    dense = (dense + dense.T).clamp(max=1) + torch.eye(20)
    adjacency = (dense / dense.sum(1, keepdim=True)).to_sparse()
    features = (torch.rand(20, 30) < 0.1).float()
    labels, known = torch.arange(20) % 4, torch.arange(6)
    model = nn.ModuleList([Layer(30, 8), Layer(8, 4)])

    def compute():
        hidden = F.dropout(F.relu(model[0](features, adjacency)), 0.5)
        return F.nll_loss(model[1](hidden, adjacency).log_softmax(1)[known], labels[known])

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4))


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


@case(source="https://github.com/fxia22/pointnet.pytorch/blob/master/pointnet/model.py")
def pointnet():
    class Transform(nn.Module):
        def __init__(self, k):
            super().__init__()
            self.conv, self.fc, self.k = nn.Conv1d(k, 16, 1), nn.Linear(16, k * k), k

        def forward(self, x):
            hidden = F.relu(self.conv(x)).max(2).values
            return self.fc(hidden).view(-1, self.k, self.k) + torch.eye(self.k)

    transform, conv, head = Transform(3), nn.Conv1d(3, 16, 1), nn.Linear(16, 4)
    points, y = torch.randn(5, 3, 20), torch.randint(4, (5,))

    def compute():
        matrix = transform(points)
        moved = torch.bmm(points.transpose(1, 2), matrix).transpose(1, 2)
        scores = head(F.relu(conv(moved)).max(2).values).log_softmax(1)
        error = torch.bmm(matrix, matrix.transpose(1, 2)) - torch.eye(3)
        return F.nll_loss(scores, y) + 1e-3 * error.norm(dim=(1, 2)).mean()

    model = nn.ModuleList([transform, conv, head])
    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(source="https://pytorch.org/docs/stable/quantization.html")
def fake_quantized():
    class Quantized(nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.linear, self.scale = linear, nn.Parameter(torch.tensor([0.02]))

        def forward(self, x):
            zero = torch.zeros(1)
            weight = torch._fake_quantize_learnable_per_tensor_affine(
                self.linear.weight, self.scale, zero, -8, 7, 1.0
            )
            x = torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127)
            return F.linear(x, weight, self.linear.bias)

    model = nn.Sequential(Quantized(nn.Linear(6, 8)), nn.ReLU(), Quantized(nn.Linear(8, 2)))
    x, y = torch.randn(16, 6), torch.randint(2, (16,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Step(model, lambda: F.cross_entropy(model(x), y), optimizer)


@case(source="https://github.com/pytorch/vision/blob/main/torchvision/models/googlenet.py")
def auxiliary_classifiers():
    stages = nn.ModuleList([network(8, 12), network(12, 12), network(12, 12)])
    heads = nn.ModuleList([nn.Linear(12, 4) for _ in stages])
    x, y = torch.randn(10, 8), torch.randint(4, (10,))

    def compute():
        hidden, losses = x, []
        for stage, head in zip(stages, heads, strict=True):
            hidden = F.relu(stage(hidden))
            losses.append(F.cross_entropy(head(F.dropout(hidden, 0.7)), y))
        logged = sum(loss.item() for loss in losses) / 3
        assert logged > 0
        return losses[-1] + 0.3 * sum(losses[:-1])

    model = nn.ModuleList([stages, heads])
    return Step(model, compute, torch.optim.RMSprop(model.parameters(), lr=1e-3))
