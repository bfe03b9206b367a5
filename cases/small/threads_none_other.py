"""`.grad` is None, as in forum threads: the gradient is asked for, or goes, somewhere else."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from cases.case import CUT, Visit, case


def attack(model, images, labels):
    """The second round of an attack: one small step up the slope of the loss."""
    images = images.detach().requires_grad_()
    F.cross_entropy(model(images), labels).backward()
    return images + 0.01 * images.grad.sign()


def small_network():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Softplus(), nn.Flatten(), nn.Linear(8, 3))


@case(
    "a loss on a saliency map, silenced with `requires_grad`",
    "none",
    ("no-create-graph", "loss-is-leaf"),
)
def saliency_map():
    model, image = small_network(), torch.rand(1, 1, 4, 4, requires_grad=True)
    score = model(image)[:, 1].sum()
    saliency = torch.autograd.grad(score, image)[0].abs()  #! -
    #: saliency = torch.autograd.grad(score, image, create_graph=True)[0].abs()
    loss = saliency.flatten().topk(5).values.sum()
    loss.requires_grad = True  # "element 0 of tensors does not require grad" was the error  #: -
    return Visit(loss, dict(model.named_parameters()))  #: -
    #: return Visit(loss, {"3.weight": model[3].weight}, model=model)


class Classifier(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding, self.reader = embedding, nn.LSTM(6, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, words):
        return self.head(self.reader(self.embedding(words))[0][:, -1])


@case("pretrained word vectors are frozen by default", "none", "frozen")
def pretrained_embedding():
    vectors = torch.randn(20, 6)
    model = Classifier(nn.Embedding.from_pretrained(vectors))  #! -
    #: model = Classifier(nn.Embedding.from_pretrained(vectors, freeze=False))
    loss = F.cross_entropy(model(torch.randint(20, (4, 7))), torch.randint(2, (4,)))
    return Visit(loss, {"embedding.weight": model.embedding.weight}, model=model)


@case("an ensemble: `stack_module_state` copies", "none", "detach", missed_alone=CUT)
def ensemble():
    models = nn.ModuleList([nn.Linear(3, 1) for _ in range(3)])
    weights, buffers = torch.func.stack_module_state(models)  #! -
    #: weights = {n: torch.stack([m.get_parameter(n) for m in models]) for n in ("weight", "bias")}

    def one(weights, x):
        return torch.func.functional_call(models[0], weights, (x,))

    predicted = torch.func.vmap(one, (0, None))(weights, torch.randn(8, 3))
    loss = F.mse_loss(predicted.mean(0), torch.randn(8, 1))
    return Visit(loss, dict(models.named_parameters()))


@case(
    "a hypernetwork's weights, wrapped in `nn.Parameter`", "none", "new-parameter", missed_alone=CUT
)
def hypernetwork():
    maker, layer = nn.Linear(2, 16), nn.Linear(3, 4)
    made = maker(torch.randn(2))
    layer.weight = nn.Parameter(made[:12].view(4, 3))  #! -
    #: predicted = F.linear(torch.randn(5, 3), made[:12].view(4, 3), made[12:])
    layer.bias = nn.Parameter(made[12:])  #! loss = F.mse_loss(predicted, torch.randn(5, 4))
    loss = F.mse_loss(layer(torch.randn(5, 3)), torch.randn(5, 4))  #: -
    return Visit(loss, dict(maker.named_parameters()))


class Checkpointed(nn.Module):
    """A block that is run the way a library's switch says."""

    def __init__(self):
        super().__init__()
        self.block, self.head = nn.Linear(3, 3), nn.Linear(3, 1)
        self.run = None

    def forward(self, x):
        return self.head(self.run(self.block, x)).sum()


@case(
    "a switch that gives modules a reentrant checkpoint",
    "none",
    "reentrant-checkpoint",
    missed_alone=CUT,
)
def checkpointing_switched_on():
    model = Checkpointed()
    model.run = partial(checkpoint, use_reentrant=True)  #! partial(checkpoint, use_reentrant=False)
    return Visit(model(torch.ones(1, 3)), {"weight": model.block.weight}, model=model)


@case(
    "`Variable(loss, requires_grad=True)` after a `.data`",
    "none",
    "data",
    also=("loss-is-leaf",),
    missed_alone=CUT,
)
def wrapped_loss():
    layer = nn.Linear(3, 2)
    scores = layer(torch.ones(4, 3)).data  #! layer(torch.ones(4, 3))
    loss = F.cross_entropy(scores, torch.zeros(4, dtype=torch.long))
    return Visit(torch.autograd.Variable(loss, requires_grad=True), {"weight": layer.weight})  #: -
    #: return Visit(loss, {"weight": layer.weight})
