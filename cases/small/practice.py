"""Training steps of published methods, each with a habit that could raise a false alarm."""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

from cases.case import Step, case


def network(*sizes, act=nn.ReLU):
    """Linear layers with an activation between them."""
    layers = [each for pair in zip(sizes[:-1], sizes[1:], strict=True)
              for each in (nn.Linear(*pair), act())]  # fmt: skip
    return nn.Sequential(*layers[:-1])


def dcgan():
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 8, 4, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 1, 4, bias=False), nn.Sigmoid(), nn.Flatten(0),
    )  # fmt: skip
    return generator, critic


@case(source="https://github.com/pytorch/examples/blob/main/dcgan/main.py")
def dcgan_critic():
    generator, critic = dcgan()
    real, noise = torch.randn(8, 1, 8, 8), torch.randn(8, 8, 1, 1)

    def compute():
        fake = F.binary_cross_entropy(critic(generator(noise).detach()), torch.zeros(8))
        return F.binary_cross_entropy(critic(real), torch.ones(8)) + fake

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), 2e-4, betas=(0.5, 0.999)))


@case(source="https://github.com/facebookresearch/moco/blob/main/moco/builder.py")
def moco():
    class MoCo(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = network(8, 16, 4), network(8, 16, 4)
            self.key.load_state_dict(self.query.state_dict())
            self.key.requires_grad_(False)
            self.register_buffer("queue", F.normalize(torch.randn(4, 32), dim=0))

        def forward(self, one, other):
            q = F.normalize(self.query(one), dim=1)
            with torch.no_grad():
                for a, b in zip(self.query.parameters(), self.key.parameters(), strict=True):
                    b.data = b.data * 0.999 + a.data * 0.001
                k = F.normalize(self.key(other), dim=1)
            positive = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            negative = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            with torch.no_grad():
                self.queue[:, :8] = k.T
            return torch.cat([positive, negative], dim=1) / 0.07

    model, images = MoCo(), torch.randn(8, 8)

    def compute():
        logits = model(images + 0.1, images - 0.1)
        return F.cross_entropy(logits, torch.zeros(8, dtype=torch.long))

    return Step(model, compute, torch.optim.SGD(model.parameters(), lr=0.03))


@case(source="https://pytorch.org/docs/stable/amp.html")
def transformer_in_autocast():
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.Sequential(
        nn.Embedding(20, 16),
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        nn.Linear(16, 20),
    )
    words = torch.randint(20, (4, 9))

    def compute():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(words[:, :-1])
            return F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=3e-4))


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
