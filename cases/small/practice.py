"""Training steps of published methods, each with a habit that could raise a false alarm."""

import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F
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


@case(source="https://github.com/pytorch/examples/blob/main/dcgan/main.py")
def dcgan_critic():
    generator, critic = dcgan()
    real, noise = torch.randn(8, 1, 8, 8), torch.randn(8, 8, 1, 1)

    def compute():
        fake = F.binary_cross_entropy(critic(generator(noise).detach()), torch.zeros(8))
        return F.binary_cross_entropy(critic(real), torch.ones(8)) + fake

    return Step(critic, compute, torch.optim.Adam(critic.parameters(), 2e-4, betas=(0.5, 0.999)))


@case(source="https://github.com/pytorch/examples/blob/main/dcgan/main.py")
def dcgan_generator():
    generator, critic = dcgan()
    noise, of_critic = torch.randn(8, 8, 1, 1), torch.optim.Adam(critic.parameters(), 2e-4)

    def compute():
        of_critic.zero_grad()
        return F.binary_cross_entropy(critic(generator(noise)), torch.ones(8))

    return Step(generator, compute, torch.optim.Adam(generator.parameters(), 2e-4))


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


@case(source="https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html")
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


@case(source="https://pytorch.org/tutorials/intermediate/seq2seq_translation_tutorial.html")
def translation_with_attention():
    class Decoder(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.embedding = nn.Embedding(15, width, padding_idx=0)
            self.Wa, self.Ua = nn.Linear(width, width), nn.Linear(width, width)
            self.Va = nn.Linear(width, 1)
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


@case(source="https://github.com/vwxyzjn/cleanrl/blob/master/cleanrl/sac_continuous_action.py")
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


@case(source="https://github.com/benmoseley/harmonic-oscillator-pinn")
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


@case(source="https://pytorch.org/docs/stable/checkpoint.html")
def checkpointed_stages():
    model = nn.Sequential(
        *(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.GELU()) for _ in range(4))
    )
    x = torch.randn(8, 8)

    def compute():
        return F.mse_loss(checkpoint_sequential(model, 2, x, use_reentrant=False), x.flip(1))

    return Step(model, compute, torch.optim.AdamW(model.parameters()))
