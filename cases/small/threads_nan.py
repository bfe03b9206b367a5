"""The gradient is NaN or infinite, as in forum threads."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from cases.case import Visit, case


@case(
    "advantages of one transition, divided by their `std`",
    "nan",
    ("forward-nonfinite", "division-by-zero", "nonfinite-data"),
)
def one_transition():
    policy, state = nn.Linear(3, 2), torch.randn(1, 3)  #: nn.Linear(3, 2), torch.randn(3, 3)
    gain, action = torch.tensor([0.7]), torch.tensor([1])  #: -
    #: gain, action = torch.tensor([0.7, 0.1, 0.2]), torch.tensor([1, 0, 1])
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)  #!
    loss = -(Categorical(logits=policy(state)).log_prob(action) * gain).mean()
    return Visit(loss, {"weight": policy.weight, "bias": policy.bias})


@case("whitening: `eigh` with equal eigenvalues", "nan", "infinite-derivative")
def equal_eigenvalues():
    scale = nn.Parameter(torch.ones(3))  #: nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    size, direction = torch.linalg.eigh(torch.diag(scale**2))  #!
    white = direction @ (direction.T @ torch.arange(3.0) / size.sqrt())
    return Visit(white.pow(2).sum(), {"scale": scale})


@case("in bfloat16, `1 - 1e-6` is 1", "nan", "masked-too-late")
def noisy_or():
    scores = torch.tensor([[12.0, 1.0, -1.0], [0.0, 1.0, 2.0]], requires_grad=True)
    p = scores.bfloat16().sigmoid()
    log_none = torch.log1p(-p * (1 - 1e-6))  #! F.logsigmoid(-scores.bfloat16())
    some = 1 - log_none.sum(-1).exp()
    return Visit((some.float() - 0.5).pow(2).mean(), {"scores": scores})


@case("detection: a batch without an object", "nan", ("division-by-zero", "forward-nonfinite"))
def no_objects():
    net, label = nn.Linear(4, 3), torch.zeros(5, 3)
    scores = net(torch.randn(5, 4))
    total = F.binary_cross_entropy_with_logits(scores, label, reduction="sum")
    loss = total / label.sum()  #! total / label.sum().clamp(min=1)
    return Visit(loss, {"weight": net.weight})


@case(
    "a constant column is standardised",
    "nan",
    ("division-by-zero", "forward-nonfinite", "nonfinite-data"),
)
def constant_column():
    class Standardised(torch.utils.data.Dataset):
        """Four columns of numbers; the third is the same in every row."""

        def __init__(self):
            self.x = torch.rand(12, 4)
            self.target = self.x[:, :1].clone()
            self.x[:, 2] = 7.0
            self.x = (self.x - self.x.mean(0)) / self.x.std(0)  #! -
            #: self.x = (self.x - self.x.mean(0)) / self.x.std(0).clamp(min=1e-3)

        def __len__(self):
            return len(self.x)

        def __getitem__(self, row):
            return self.x[row], self.target[row]

    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    x, target = next(iter(torch.utils.data.DataLoader(Standardised(), batch_size=4)))
    return Visit(F.mse_loss(net(x), target), dict(net.named_parameters()))


@case("WGAN-GP: `sqrt` where the critic is flat", "nan", "infinite-derivative")
def gradient_penalty():
    critic = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    nn.init.constant_(critic[0].weight, 0.3)
    nn.init.zeros_(critic[0].bias)
    x = torch.tensor([[1.0, 2.0], [-1.0, -2.0]], requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    norm = slope.pow(2).sum(1).sqrt()  #! slope.pow(2).sum(1).add(1e-12).sqrt()
    return Visit((norm - 1).pow(2).mean(), {"0.weight": critic[0].weight})


@case("a CRF: no transition leads to a tag", "nan", "empty-softmax")
def forbidden_tag():
    weight, scores = nn.Parameter(torch.randn(3, 3)), torch.randn(4, 3)
    forbidden = torch.tensor([False, False, True]).expand(3, 3)
    transition = weight.masked_fill(forbidden, -torch.inf)  #: weight.masked_fill(forbidden, -1e4)
    total = scores[0]
    for score in scores[1:]:
        total = torch.logsumexp(total[:, None] + transition, 0) + score  #!
    return Visit(total.logsumexp(0), {"weight": weight})
