"""Training steps of published methods, with layers that could raise a false alarm."""

import math
from functools import partial

import torch
from torch import nn
from torch.distributions import Normal
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from cases.case import Step, case
from cases.small.practice import network


@case(source="https://github.com/christiancosgrove/pytorch-spectral-normalization-gan")
def hinge_critic_with_spectral_norm():
    critic = nn.Sequential(
        spectral_norm(nn.Linear(6, 16)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(16, 1))
    )
    real, fake = 9 * torch.randn(8, 6), torch.randn(8, 6)

    def compute():
        return F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.9)))


@case(source="https://github.com/locuslab/TCN/blob/master/TCN/tcn.py")
def temporal_convolutions():
    class Block(nn.Module):
        def __init__(self, n, out, dilation):
            super().__init__()
            conv = partial(nn.Conv1d, kernel_size=2, dilation=dilation, padding=dilation)
            self.convs = nn.ModuleList([weight_norm(conv(n, out)), weight_norm(conv(out, out))])
            self.downsample = nn.Conv1d(n, out, 1) if n != out else None
            self.dilation = dilation

        def forward(self, x):
            out = x
            for conv in self.convs:
                out = F.dropout(F.relu(conv(out)[..., : -self.dilation]), 0.2)
            return F.relu(out + (x if self.downsample is None else self.downsample(x)))

    model = nn.Sequential(Block(1, 6, 1), Block(6, 6, 2))
    head = nn.Linear(6, 1)
    x, y = torch.randn(4, 1, 12), torch.randn(4, 1)
    whole = nn.ModuleList([model, head])
    optimizer = torch.optim.Adam(whole.parameters(), lr=4e-3)
    return Step(whole, lambda: F.mse_loss(head(model(x)[:, :, -1]), y), optimizer)


@case(
    source="https://github.com/facebookresearch/DiT/blob/main/models.py",
    normal=[("zero", "zero-factor")],
)
def diffusion_transformer():
    class Block(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
            self.mlp = network(width, 16, width, act=nn.GELU)
            self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 3 * width))
            nn.init.zeros_(self.adaLN_modulation[-1].weight)
            nn.init.zeros_(self.adaLN_modulation[-1].bias)

        def forward(self, x, c):
            shift, scale, gate = self.adaLN_modulation(c).unsqueeze(1).chunk(3, dim=2)
            return x + gate * self.mlp(self.norm(x) * (1 + scale) + shift)

    embed, block, final = nn.Linear(4, 8), Block(), nn.Linear(8, 4)
    time = nn.Linear(6, 8)
    clean, noise, t = torch.randn(5, 7, 4), torch.randn(5, 7, 4), torch.rand(5, 1)

    def compute():
        angles = t * torch.exp(-torch.arange(3.0))
        c = time(torch.cat([angles.cos(), angles.sin()], 1))
        noisy = (1 - t[..., None]) * clean + t[..., None] * noise
        return F.mse_loss(final(block(embed(noisy), c)), noise - clean)

    model = nn.ModuleList([embed, block, final, time])
    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-4))


@case(source="https://github.com/benzakenelad/BitFit")
def biases_only():
    model = nn.Sequential(
        nn.Embedding(20, 8),
        nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True),
        nn.Flatten(),
        nn.Linear(48, 2),
    )
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.endswith("bias") or name.startswith("3.")
    words, y = torch.randint(20, (6, 6)), torch.randint(2, (6,))
    trained = [p for p in model.parameters() if p.requires_grad]
    return Step(model, lambda: F.cross_entropy(model(words), y), torch.optim.AdamW(trained))


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


@case(source="https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html")
def ctc_with_a_sample_too_long():
    model = nn.ModuleList([nn.GRU(6, 8, bidirectional=True), nn.Linear(16, 5)])
    x, targets = torch.randn(10, 3, 6), torch.randint(1, 5, (3, 6))
    lengths, of_targets = torch.tensor([10, 8, 3]), torch.tensor([4, 3, 6])
    loss = nn.CTCLoss(zero_infinity=True)

    def compute():
        scores = model[1](model[0](x)[0]).log_softmax(2)
        return loss(scores, targets, lengths, of_targets)

    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(source="https://github.com/sktime/pytorch-forecasting")
def quantiles():
    model = network(5, 16, 3)
    x, y, levels = torch.randn(24, 5), torch.randn(24), torch.tensor([0.1, 0.5, 0.9])

    def compute():
        errors = y.unsqueeze(-1) - model(x)
        return torch.max((levels - 1) * errors, levels * errors).sum(1).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters()))


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


@case(
    source="https://github.com/yaringal/multi-task-learning-example",
    normal=[("zero", "empty-selection")],
)
def a_task_without_labels():
    body = network(6, 16, 8)
    heads = nn.ModuleDict({"depth": nn.Linear(8, 1), "class": nn.Linear(8, 3)})
    log_var = nn.ParameterDict({name: torch.zeros(()) for name in heads})
    x, depth = torch.randn(8, 6), torch.randn(8, 1)
    labels = torch.full((8,), -1)  # none of this batch is labelled

    def compute():
        hidden = F.relu(body(x))
        mask = (labels >= 0).float()
        each = F.cross_entropy(heads["class"](hidden), labels.clamp(min=0), reduction="none")
        losses = {
            "depth": F.mse_loss(heads["depth"](hidden), depth),
            "class": (each * mask).sum() / mask.sum().clamp(min=1),
        }
        return sum((-log_var[n]).exp() * loss + log_var[n] for n, loss in losses.items())

    model = nn.ModuleList([body, heads, log_var])
    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(source="https://github.com/tristandeleu/pytorch-meta")
def meta_sgd():
    model = network(1, 12, 1, act=nn.Tanh)
    rates = nn.ParameterList([torch.full_like(p, 0.1) for p in model.parameters()])
    x, y, new_x, new_y = (torch.randn(6, 1) for _ in range(4))

    def compute():
        names, values = zip(*model.named_parameters(), strict=True)
        inner = F.mse_loss(functional_call(model, dict(zip(names, values, strict=True)), x), y)
        slopes = torch.autograd.grad(inner, values, create_graph=True)
        fast = {n: v - r * g for n, v, r, g in zip(names, values, rates, slopes, strict=True)}
        return F.mse_loss(functional_call(model, fast, new_x), new_y)

    whole = nn.ModuleList([model, rates])
    return Step(whole, compute, torch.optim.Adam(whole.parameters()))


@case(source="https://pytorch.org/tutorials/advanced/neural_style_tutorial.html")
def neural_style():
    layers = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
    layers.eval().requires_grad_(False)
    content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
    image = nn.ParameterList([content.clone()])

    def gram(x):
        rows = x.flatten(2).squeeze(0)
        return rows @ rows.T / x.numel()

    targets = layers(content).detach(), gram(layers(style)).detach()

    def compute():
        with torch.no_grad():
            image[0].clamp_(0, 1)
        out = layers(image[0])
        return F.mse_loss(out, targets[0]) + 1e6 * F.mse_loss(gram(out), targets[1])

    return Step(image, compute, torch.optim.Adam(image.parameters(), lr=0.01))


@case(source="https://github.com/lucidrains/denoising-diffusion-pytorch")
def denoising_diffusion():
    class Unet(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.time = network(width, width, 2 * width, act=nn.GELU)
            self.first, self.last = nn.Conv1d(2, width, 3, padding=1), nn.Conv1d(2 * width, 2, 1)
            self.norm = nn.GroupNorm(2, width)

        def forward(self, x, t):
            angles = t[:, None] * torch.exp(torch.arange(4) * -2.0)
            of_time = self.time(torch.cat([angles.sin(), angles.cos()], 1))[..., None]
            scale, shift = of_time.chunk(2, 1)
            skip = self.first(x)
            hidden = F.silu(self.norm(skip) * (scale + 1) + shift)
            return self.last(torch.cat([hidden, skip], 1))

    model, x = Unet(), torch.randn(6, 2, 10)
    products = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)

    def compute():
        t, noise = torch.randint(100, (6,)), torch.randn_like(x)
        a = products[t].view(-1, 1, 1)
        error = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise, reduction="none")
        return (error.mean((1, 2)) * (a / (1 - a)).view(-1).clamp(max=5)).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=8e-5))


@case(source="https://github.com/chrischute/real-nvp/blob/master/models/real_nvp/real_nvp.py")
def affine_couplings():
    class Coupling(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", mask)
            self.net, self.rescale = network(4, 16, 8), nn.Parameter(torch.ones(4))

        def forward(self, x):
            s, t = self.net(x * self.mask).chunk(2, 1)
            s = self.rescale * torch.tanh(s) * (1 - self.mask)
            return (x + t * (1 - self.mask)) * s.exp(), s.sum(1)

    mask = torch.tensor([1.0, 0, 1, 0])
    model, x = nn.ModuleList([Coupling(mask), Coupling(1 - mask)]), torch.randn(16, 4)

    def compute():
        z, volume = x, 0
        for layer in model:
            z, change = layer(z)
            volume = volume + change
        return -(Normal(0, 1).log_prob(z).sum(1) + volume).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters()))
