"""Training steps of published methods, each with a habit that could raise a false alarm."""

import math
from functools import partial

import torch
from torch import nn
from torch.distributions import Normal
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint_sequential

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


@case(library="torch", source="https://github.com/pytorch/examples/blob/main/dcgan/main.py")
def dcgan_critic():
    generator, critic = dcgan()
    real, noise = torch.randn(8, 1, 8, 8), torch.randn(8, 8, 1, 1)

    def compute():
        fake = F.binary_cross_entropy(critic(generator(noise).detach()), torch.zeros(8))
        return F.binary_cross_entropy(critic(real), torch.ones(8)) + fake

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), 2e-4, betas=(0.5, 0.999)))


@case(library="torch", source="https://github.com/pytorch/examples/blob/main/dcgan/main.py")
def dcgan_generator():
    generator, critic = dcgan()
    noise, of_critic = torch.randn(8, 8, 1, 1), torch.optim.Adam(critic.parameters(), 2e-4)

    def compute():
        of_critic.zero_grad()
        return F.binary_cross_entropy(critic(generator(noise)), torch.ones(8))

    return Step(generator, compute, torch.optim.Adam(generator.parameters(), 2e-4))


@case(
    library="torch",
    source="https://github.com/facebookresearch/simsiam/blob/main/simsiam/builder.py",
)
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


@case(library="torch", source="https://github.com/facebookresearch/moco/blob/main/moco/builder.py")
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


@case(
    library="torch", source="https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html"
)
def feature_extractor():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(8, 100),
    )  # fmt: skip
    model.requires_grad_(False)
    model[-1] = nn.Linear(8, 2)
    x, y = torch.randn(6, 3, 8, 8), torch.randint(2, (6,))
    optimizer = torch.optim.SGD(model[-1].parameters(), lr=1e-3, momentum=0.9)
    return Step(model, lambda: F.cross_entropy(model(x), y), optimizer)


@case(
    library="torch",
    source="https://github.com/tensorflow/mesh/blob/master/mesh_tensorflow/transformer/moe.py",
)
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


@case(library="torch", source="https://pytorch.org/docs/stable/amp.html")
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


@case(
    library="torch",
    source="https://pytorch.org/tutorials/intermediate/seq2seq_translation_tutorial.html",
)
def translation_with_attention():
    class Decoder(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.embedding = nn.Embedding(15, width, padding_idx=0)
            self.Wa, self.Ua, self.Va = (
                nn.Linear(width, width),
                nn.Linear(width, width),
                nn.Linear(width, 1),
            )
            self.gru, self.out = nn.GRU(2 * width, width, batch_first=True), nn.Linear(width, 15)

        def forward(self, memory, hidden, target):
            rows, given = [], target[:, :1]
            for t in range(target.shape[1]):
                query = hidden.permute(1, 0, 2)
                scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(memory))).squeeze(2)
                context = scores.unsqueeze(1).softmax(-1) @ memory
                step = torch.cat((self.embedding(given), context), dim=2)
                output, hidden = self.gru(step, hidden)
                rows.append(self.out(output))
                given = rows[-1].argmax(-1).detach() if t % 2 else target[:, t : t + 1]
            return torch.cat(rows, 1).log_softmax(-1)

    encoder = nn.ModuleList([nn.Embedding(15, 12, padding_idx=0), nn.GRU(12, 12, batch_first=True)])
    decoder = Decoder()
    source, target = torch.randint(1, 15, (4, 6)), torch.randint(1, 15, (4, 5))
    source[0, 4:] = target[1, 3:] = 0

    def compute():
        memory, hidden = encoder[1](encoder[0](source))
        scores = decoder(memory, hidden, target)
        return F.nll_loss(scores.flatten(0, 1), target.flatten(), ignore_index=0)

    model = nn.ModuleList([encoder, decoder])
    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(library="torch", source="https://github.com/openai/iaf/blob/master/tf_train.py")
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


@case(library="torch", source="https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/ppo.py")
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


@case(
    library="torch",
    source="https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/sac_continuous_action.py",
)
def soft_actor():
    actor, critics = network(3, 16, 4), nn.ModuleList([network(5, 16, 1), network(5, 16, 1)])
    states, log_alpha = torch.randn(16, 3), torch.zeros(1, requires_grad=True)
    of_critics = torch.optim.Adam(critics.parameters(), lr=1e-3)

    def compute():
        of_critics.zero_grad()
        mean, log_std = actor(states).chunk(2, 1)
        log_std = -5 + 3.5 * (torch.tanh(log_std) + 1)
        x = Normal(mean, log_std.exp()).rsample()
        action = torch.tanh(x)
        log_prob = Normal(mean, log_std.exp()).log_prob(x) - (1 - action**2 + 1e-6).log()
        both = torch.cat([critic(torch.cat([states, action], 1)) for critic in critics], 1)
        return (log_alpha.exp().item() * log_prob.sum(1) - both.min(1).values).mean()

    return Step(actor, compute, torch.optim.Adam(actor.parameters(), lr=3e-4))


@case(library="torch", source="https://github.com/benmoseley/harmonic-oscillator-pinn")
def oscillator_with_physics():
    """Its points require a gradient, too, and are attributes, as in the authors' code."""
    model = network(1, 16, 16, 1, act=nn.Tanh)
    mu, boundary = nn.Parameter(torch.zeros(1)), torch.zeros(1, 1, requires_grad=True)
    model.t = t = torch.linspace(0, 1, 12).view(-1, 1).requires_grad_(True)

    def slope(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]

    def compute():
        start = model(boundary)
        known = (start.squeeze() - 1) ** 2 + 0.1 * slope(start, boundary).squeeze() ** 2
        u = model(t)
        first = slope(u, t)
        return known + 1e-4 * ((slope(first, t) + mu * first + 400 * u) ** 2).mean()

    whole = nn.ModuleList([model, nn.ParameterList([mu])])
    return Step(whole, compute, torch.optim.Adam(whole.parameters()))


@case(library="torch", source="https://pytorch.org/docs/stable/checkpoint.html")
def checkpointed_stages():
    model = nn.Sequential(
        *(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.GELU()) for _ in range(4))
    )
    x = torch.randn(8, 8)

    def compute():
        return F.mse_loss(checkpoint_sequential(model, 2, x, use_reentrant=False), x.flip(1))

    return Step(model, compute, torch.optim.AdamW(model.parameters()))


@case(
    library="torch",
    source="https://github.com/christiancosgrove/pytorch-spectral-normalization-gan",
)
def hinge_critic_with_spectral_norm():
    critic = nn.Sequential(
        spectral_norm(nn.Linear(6, 16)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(16, 1))
    )
    real, fake = 9 * torch.randn(8, 6), torch.randn(8, 6)

    def compute():
        return F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.9)))


@case(library="torch", source="https://github.com/locuslab/TCN/blob/master/TCN/tcn.py")
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
    library="torch",
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


@case(library="torch", source="https://github.com/benzakenelad/BitFit")
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


@case(library="torch", source="https://github.com/theeluwin/pytorch-sgns/blob/master/model.py")
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


@case(library="torch", source="https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html")
def ctc_with_a_sample_too_long():
    model = nn.ModuleList([nn.GRU(6, 8, bidirectional=True), nn.Linear(16, 5)])
    x, targets = torch.randn(10, 3, 6), torch.randint(1, 5, (3, 6))
    lengths, of_targets = torch.tensor([10, 8, 3]), torch.tensor([4, 3, 6])
    loss = nn.CTCLoss(zero_infinity=True)

    def compute():
        scores = model[1](model[0](x)[0]).log_softmax(2)
        return loss(scores, targets, lengths, of_targets)

    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(library="torch", source="https://github.com/sktime/pytorch-forecasting")
def quantiles():
    model = network(5, 16, 3)
    x, y, levels = torch.randn(24, 5), torch.randn(24), torch.tensor([0.1, 0.5, 0.9])

    def compute():
        errors = y.unsqueeze(-1) - model(x)
        return torch.max((levels - 1) * errors, levels * errors).sum(1).mean()

    return Step(model, compute, torch.optim.Adam(model.parameters()))


@case(
    library="torch", source="https://github.com/adambielski/siamese-triplet/blob/master/losses.py"
)
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
    library="torch",
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


@case(library="torch", source="https://github.com/tristandeleu/pytorch-meta")
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


@case(library="torch", source="https://pytorch.org/tutorials/advanced/neural_style_tutorial.html")
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


@case(library="torch", source="https://github.com/lucidrains/denoising-diffusion-pytorch")
def denoising_diffusion():
    class Unet(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.time = nn.Sequential(
                nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2 * width)
            )
            self.first, self.last = nn.Conv1d(2, width, 3, padding=1), nn.Conv1d(2 * width, 2, 1)
            self.norm = nn.GroupNorm(2, width)

        def forward(self, x, t):
            angles = t[:, None] * torch.exp(torch.arange(4) * -2.0)
            scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], 1))[..., None].chunk(
                2, 1
            )
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


@case(
    library="torch",
    source="https://github.com/chrischute/real-nvp/blob/master/models/real_nvp/real_nvp.py",
)
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


@case(
    library="torch", source="https://github.com/google-research/bert/blob/master/run_pretraining.py"
)
def masked_language_model():
    class Bert(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.words, self.places = (
                nn.Embedding(25, width, padding_idx=0),
                nn.Embedding(16, width),
            )
            self.types, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
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


@case(library="torch", source="https://github.com/UKPLab/sentence-transformers")
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


@case(library="torch", source="https://pytorch.org/docs/stable/notes/amp_examples.html")
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


@case(library="torch", source="https://pytorch.org/tutorials/intermediate/parametrizations.html")
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
    library="torch",
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


@case(
    library="torch",
    source="https://github.com/openai/guided-diffusion/blob/main/guided_diffusion/nn.py",
)
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


@case(library="torch", source="https://github.com/facebookresearch/dino/blob/main/main_dino.py")
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


@case(library="torch", source="https://github.com/facebookresearch/vicreg/blob/main/main_vicreg.py")
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


@case(library="torch", source="https://github.com/tkipf/pygcn/blob/master/pygcn/models.py")
def graph_convolutions():
    class Layer(nn.Module):
        def __init__(self, n, out):
            super().__init__()
            self.weight, self.bias = (
                nn.Parameter(torch.empty(n, out)),
                nn.Parameter(torch.empty(out)),
            )
            bound = out**-0.5
            self.weight.data.uniform_(-bound, bound)
            self.bias.data.uniform_(-bound, bound)

        def forward(self, x, adjacency):
            return torch.spmm(adjacency, x @ self.weight) + self.bias

    dense = (torch.rand(20, 20) < 0.15).float()
    dense[7] = dense[:, 7] = 0  # a node without a neighbour
    dense = (dense + dense.T).clamp(max=1) + torch.eye(20)
    adjacency = (dense / dense.sum(1, keepdim=True)).to_sparse()
    features, labels, known = (
        (torch.rand(20, 30) < 0.1).float(),
        torch.arange(20) % 4,
        torch.arange(6),
    )
    model = nn.ModuleList([Layer(30, 8), Layer(8, 4)])

    def compute():
        hidden = F.dropout(F.relu(model[0](features, adjacency)), 0.5)
        return F.nll_loss(model[1](hidden, adjacency).log_softmax(1)[known], labels[known])

    return Step(model, compute, torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4))


@case(library="torch", source="https://github.com/kuangliu/pytorch-retinanet/blob/master/loss.py")
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


@case(
    library="torch",
    source="https://github.com/fxia22/pointnet.pytorch/blob/master/pointnet/model.py",
)
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


@case(library="torch", source="https://pytorch.org/docs/stable/quantization.html")
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


@case(
    library="torch",
    source="https://github.com/pytorch/vision/blob/main/torchvision/models/googlenet.py",
)
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
