"""The gradient or the loss is not finite, for a reason that stands in the data or the loss."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from cases.case import Visit, case


class Reader(nn.Module):
    """Frames of a line of text or of speech; every second one is dropped."""

    def __init__(self, stride):
        super().__init__()
        self.conv, self.head = nn.Conv1d(6, 8, 3, stride, padding=1), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.conv(x).tanh().transpose(1, 2)).log_softmax(-1).transpose(0, 1)


@case("CTC: a label longer than its input", "nan", "target-too-long")
def label_too_long():
    model = Reader(stride=2)  #: Reader(stride=1)
    scores = model(torch.randn(2, 6, 12))
    labels = torch.tensor([[1, 2, 3, 4, 1, 2, 3], [1, 2, 3, 4, 0, 0, 0]])
    frames, lengths = torch.tensor([len(scores)] * 2), torch.tensor([7, 4])
    loss = F.ctc_loss(scores, labels, frames, lengths)  #!
    return Visit(loss, {"head.weight": model.head.weight})


@case("the entropy of a masked policy", "nan", "zero-times-infinity")
def masked_entropy():
    net, state = nn.Linear(4, 5), torch.randn(6, 4)
    allowed = torch.rand(6, 5) > 0.3
    allowed[:, 0] = True
    logp = net(state).masked_fill(~allowed, -torch.inf).log_softmax(-1)
    entropy = -(logp.exp() * logp).sum(-1)  #! -
    #: entropy = -(logp.exp() * logp.masked_fill(~allowed, 0.0)).sum(-1)
    return Visit(logp[:, 0].mean() - 0.01 * entropy.mean(), {"weight": net.weight})


MEASURED = torch.tensor([0.1, 0.2, float("nan"), 0.3, 0.1, 0.2, 0.4, 0.3])


@case(
    "a gap in the measured targets",
    "nan",
    "nonfinite-data",
    missed_alone="a subtraction keeps nothing, and no variable holds the targets any more",
)
def gap_in_the_targets():
    net, x = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1)), torch.randn(8, 3)
    loss = ((net(x).squeeze(1) - MEASURED) ** 2).mean()  #! known = MEASURED.isfinite()
    #: loss = ((net(x).squeeze(1)[known] - MEASURED[known]) ** 2).mean()
    return Visit(loss, {"2.weight": net[2].weight})


@case("`weight_norm` of a layer that starts at zero", "nan", "division-by-zero")
def weight_norm_of_zero():
    head = nn.Linear(4, 1)
    nn.init.zeros_(head.weight)  #: nn.init.normal_(head.weight, std=0.01)
    head = weight_norm(head)
    loss = F.mse_loss(head(torch.randn(8, 4)), torch.randn(8, 1))  #!
    return Visit(loss, {"bias": head.bias})


@case("`normalize` in float16: its eps is 0 there", "nan", "division-by-zero")
def normalize_in_half():
    queries = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float16, requires_grad=True)
    direction = F.normalize(queries, dim=-1)  #! F.normalize(queries.float(), dim=-1, eps=1e-3)
    loss = (direction.float() * torch.tensor([0.0, 2.0])).sum()  #: -
    #: loss = (direction * torch.tensor([1.0, 2.0])).sum()
    return Visit(loss, {"queries": queries})


@case(
    "the sum of a long recording in float16",
    "nan",
    "overflow",
    missed_alone="no gradient is asked of the data: no graph",
)
def long_sum_in_float16():
    class InHalf(nn.Module):
        """Normalises a recording over its length."""

        def __init__(self):
            super().__init__()
            self.layer = nn.Conv1d(2, 3, 5)

        def mean(self, sound):
            return sound.sum(-1, keepdim=True) / sound.shape[-1]  #! -
            #: return sound.float().mean(-1, keepdim=True).half()

        def forward(self, sound):
            sound = sound - self.mean(sound)
            return self.layer(sound.float()).square().mean()

    model = InHalf()
    sound = (torch.randn(1, 2, 1500) - 60).half()  # decibels
    return Visit(model(sound), {"weight": model.layer.weight}, model=model)


@case(
    "missing targets, and a mask that multiplies the error",
    "nan",
    "masked-too-late",
    missed_alone="the data are in no variable",
)
def missing_targets_multiplied():
    layer, target = nn.Linear(3, 2), torch.tensor([[1.0, torch.nan], [2.0, 3.0]])
    layer.register_buffer("target", target)  # which is still there when the doctor looks
    measured = target.isfinite()
    squares = (layer(torch.ones(2, 3)) - target) ** 2  #: -
    #: squares = (layer(torch.ones(2, 3)) - torch.where(measured, target, 0.0)) ** 2
    loss = (squares * measured.float()).sum() / measured.sum()  #!
    return Visit(loss, {"weight": layer.weight}, model=layer)
