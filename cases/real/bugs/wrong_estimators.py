"""An estimate, a penalty or a local update has another gradient than the one that is meant.

Each function follows the thread that it cites; the model around the line is small.
"""

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Step, case
from cases.real.bugs.wrong_gradients import _policy


@case(
    library="stable_baselines3",
    source="https://github.com/DLR-RM/stable-baselines3/issues/2096",
    cause="cancel",
)
def score_of_a_reparameterised_sample():
    from gymnasium.spaces import Box

    policy = _policy(Box(-1.0, 1.0, (2,)))
    obs, returns = torch.rand(16, 6), torch.randn(16)

    def compute():
        normal = policy.get_distribution(obs).distribution
        actions = normal.rsample()  #!
        log_prob = normal.log_prob(actions).sum(dim=1)  #!  actions.detach() here is as good
        values = policy.predict_values(obs).flatten()
        advantage = (returns - values).detach()
        return -(log_prob * advantage).mean() + 0.5 * F.mse_loss(values, returns)

    return Step(policy, compute, policy.optimizer)


@case(
    library="torch",
    source="https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33",
    cause="broadcast",
)
def advantages_of_each_with_each():
    class AtariA2C(nn.Module):
        def __init__(self, actions=4):
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv2d(4, 16, 8, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 4, stride=2),
                nn.ReLU(), nn.Flatten(),
            )  # fmt: skip
            self.policy = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, actions))
            self.value = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, frames):
            hidden = self.conv(frames)
            return self.policy(hidden), self.value(hidden)

    net = AtariA2C()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-3)
    states, actions, vals_ref = torch.rand(8, 4, 44, 44), torch.randint(4, (8,)), torch.randn(8)

    def compute():
        logits, value = net(states)
        loss_value = F.mse_loss(value.squeeze(-1), vals_ref)
        log_prob = F.log_softmax(logits, dim=1)
        adv = vals_ref - value.detach()  #!
        loss_policy = -(adv * log_prob[range(8), actions]).mean()
        prob = F.softmax(logits, dim=1)
        return 0.01 * (prob * log_prob).sum(1).mean() + loss_value + loss_policy

    return Step(net, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/yastrebksv/TennisCourtDetector/issues/7",
    cause="accumulated",
)
def gradients_of_all_batches():
    class CourtNet(nn.Module):
        def __init__(self, points=15):
            super().__init__()
            layers, channels = [], 3
            for width in (16, 32, 32):
                conv = nn.Conv2d(channels, width, 3, padding=1)
                layers += [conv, nn.ReLU(), nn.BatchNorm2d(width)]
                channels = width
            self.body, self.heads = (
                nn.Sequential(*layers),
                nn.Conv2d(channels, points, 3, padding=1),
            )

        def forward(self, image):
            return self.heads(self.body(image))

    model, criterion = CourtNet(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, betas=(0.9, 0.999))
    image, heatmaps = torch.rand(2, 3, 24, 40), torch.rand(2, 15, 24, 40)

    def compute():
        return criterion(torch.sigmoid(model(image)), heatmaps)

    for _ in range(2):  # the batches before this one
        compute().backward()  #!
        optimizer.step()  #!
    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/9",
    cause="nll-of-probabilities",
)
def softmax_without_its_logarithm():
    class Transformer(nn.Module):
        def __init__(self, words=200, width=48, classes=4):
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, 4, 96, batch_first=True)
            self.src_embed, self.encoder = (
                nn.Embedding(words, width),
                nn.TransformerEncoder(layer, 2),
            )
            self.fc, self.softmax = nn.Linear(width, classes), nn.Softmax(dim=-1)

        def forward(self, tokens):
            encoded = self.encoder(self.src_embed(tokens))
            return self.softmax(self.fc(encoded[:, -1]))  #!

    model, loss_op = Transformer(), nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    tokens, label = torch.randint(200, (8, 20)), torch.randint(4, (8,))
    return Step(model, lambda: loss_op(model(tokens), label), optimizer)


@case(
    library="torch",
    source="https://github.com/hash2430/pitchtron/issues/3",
    cause="module-backward",
)
def reversal_that_is_never_called():
    class GradientReversalLayer(nn.Module):
        def forward(self, x):
            return x

        def backward(self, grad_output):  #!
            return -grad_output

    class Pitchtron(nn.Module):
        def __init__(self, speakers=6):
            super().__init__()
            self.encoder = nn.LSTM(40, 24, batch_first=True, bidirectional=True)
            self.decoder = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 40))
            self.reversal, self.speaker = GradientReversalLayer(), nn.Linear(48, speakers)

        def forward(self, mel):
            hidden, _ = self.encoder(mel)
            return self.decoder(hidden), self.speaker(self.reversal(hidden).mean(1))

    model = Pitchtron()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    mel, speaker = torch.randn(4, 30, 40), torch.randint(6, (4,))

    def compute():
        recon, guess = model(mel)
        return F.mse_loss(recon, mel) + 0.02 * F.cross_entropy(guess, speaker)

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/hoyeoplee/MeLU/issues/9",
    cause="no-grad",
    missed="every parameter has a right gradient of this loss; what the update was meant to do "
    "is not in the graph",
)
def local_update_through_load_state_dict():
    class MeLU(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.user, self.item = nn.EmbeddingBag(30, width), nn.EmbeddingBag(50, width)
            self.fc1, self.fc2 = nn.Linear(2 * width, 32), nn.Linear(32, 32)
            self.linear_out = nn.Linear(32, 1)

        def forward(self, users, items):
            x = torch.cat([self.user(users), self.item(items)], 1)
            return self.linear_out(F.relu(self.fc2(F.relu(self.fc1(x)))))

    model = MeLU()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    users, items = torch.randint(30, (2, 6, 3)), torch.randint(50, (2, 6, 4))
    ratings = 5 * torch.rand(2, 6, 1)
    kept = {name: weight.clone() for name, weight in model.state_dict().items()}

    def compute():
        model.load_state_dict(kept)
        loss = F.mse_loss(model(users[0], items[0]), ratings[0])
        grad = torch.autograd.grad(loss, model.parameters(), create_graph=True)
        fast_weights = dict(kept)
        for (name, weight), slope in zip(model.named_parameters(), grad, strict=True):
            if name.startswith(("fc", "linear_out")):
                fast_weights[name] = weight - 0.005 * slope
        model.load_state_dict(fast_weights)  #!
        return F.mse_loss(model(users[1], items[1]), ratings[1])

    return Step(model, compute, optimizer)


@case(
    library="torch",
    source="https://github.com/pytorch/pytorch/issues/58509",
    cause="own-function",
    also=("cancel",),
    missed="the Function is named, at the line that applies it; whether its own second "
    "derivative is wrong is not checked",
)
def penalty_through_an_own_square():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, inp):
            interm = inp * 2
            ctx.foo = interm  #!
            return interm**2

        @staticmethod
        def backward(ctx, gres):
            return 2 * 2 * ctx.foo * gres

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1),
                nn.LeakyReLU(0.2), nn.Flatten(),
            )  # fmt: skip
            self.energy, self.head = nn.Linear(32 * 16, 24), nn.Linear(24, 1)

        def forward(self, image):
            return self.head(Square.apply(self.energy(self.conv(image))))

    critic = Critic()
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
    (real, fake), share = torch.rand(2, 4, 1, 16, 16), torch.rand(4, 1, 1, 1)

    def compute():
        mixed = torch.lerp(real, fake, share).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    return Step(critic, compute, optimizer)
