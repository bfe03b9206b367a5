"""A gradient is 0, or nearly, because of a sum, a range, a margin or a dtype.

Each function follows the thread that it cites; the model around the line is small.
"""

import torch
from torch import nn
from torch.nn import functional as F

from cases.case import Step, case
from cases.real.bugs.zeros import tiny_bert, tokens


@case(
    library="transformers",
    source="https://github.com/pytorch/pytorch/issues/63541",
    cause="normalised",
)
def sum_of_a_layer_norm():
    import transformers as tf

    model = tf.BertModel(tiny_bert(), add_pooling_layer=False)
    ids = tokens()

    def compute():
        hidden = model(ids).last_hidden_state
        return hidden.sum()  #!

    return Step(model, compute, torch.optim.SGD(model.parameters(), 1e-3))


@case(
    library="torch_geometric",
    source="https://github.com/diegoantognini/pyGAT/issues/55",
    cause="dropout",
    also=("zero-factor",),  # the output layer sees zeros only
)
def dropout_is_true():
    from torch_geometric.nn import GATConv

    class GAT(nn.Module):
        def __init__(self, features, hidden, classes, dropout):
            super().__init__()
            self.dropout = dropout
            self.attention = GATConv(features, hidden, heads=4)
            self.output = GATConv(4 * hidden, classes)

        def forward(self, x, edge_index):
            x = F.elu(self.attention(x, edge_index))
            x = F.dropout(x, self.dropout, training=self.training)  #!
            return F.log_softmax(self.output(x, edge_index), dim=1)

    model = GAT(16, 8, 3, dropout=True)  #!
    x, edges, labels = torch.rand(30, 16), torch.randint(30, (2, 120)), torch.randint(3, (30,))

    def compute():
        return F.nll_loss(model(x, edges), labels)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 5e-3))


@case(
    library="stable_baselines3",
    source="https://github.com/floodsung/DDPG/issues/6",
    cause="saturated",
)
def saturated_actor():
    import gymnasium as gym
    import numpy as np
    from stable_baselines3.td3.policies import TD3Policy

    space = gym.spaces.Box(-np.inf, np.inf, (29,)), gym.spaces.Box(-1.0, 1.0, (3,))
    policy = TD3Policy(*space, lambda _: 1e-4, net_arch=[64, 64])
    observation = torch.rand(32, 29) * 1_000_000  # pascals, not normalised  #!

    def compute():
        action = policy.actor(observation)  #!
        return -policy.critic.q1_forward(observation, action).mean()

    return Step(policy.actor, compute, policy.actor.optimizer)


@case(
    library="stable_baselines3",
    source="https://github.com/DLR-RM/stable-baselines3/issues/620",
    cause="outside-range",
)
def log_std_beyond_its_limit():
    import gymnasium as gym
    from stable_baselines3.sac.policies import SACPolicy

    space = gym.spaces.Box(-1.0, 1.0, (8,)), gym.spaces.Box(-1.0, 1.0, (2,))
    policy = SACPolicy(*space, lambda _: 3e-4, net_arch=[32, 32])
    nn.init.constant_(policy.actor.log_std.bias, 3.0)  # the policy clamps it at 2  #!
    observation = torch.rand(32, 8)

    def compute():
        action, log_prob = policy.actor.action_log_prob(observation)  #!
        value = torch.min(*policy.critic(observation, action))
        return (0.2 * log_prob[:, None] - value).mean()

    return Step(policy.actor, compute, policy.actor.optimizer)


@case(
    library="timm",
    source="https://github.com/engichang1467/Open-Rig3R/issues/35",
    cause="underflow",
    also=("small-factor",),  # of head.bias, which float16 does not round to 0
    missed="the line where the gradient becomes float16 is named, not that of the autocast",
)
def float16_without_a_scaler():
    import timm

    model = timm.create_model("test_vit", num_classes=48)
    image = torch.rand(2, 3, 160, 160)
    rays = F.normalize(torch.rand(2, 16, 3), dim=-1)

    def compute():
        with torch.autocast("cpu", torch.float16):  #!
            predicted = model(image).view(2, 16, 3)
        angle = 1 - F.cosine_similarity(predicted.float(), rays, dim=-1)
        return 1e-6 * angle.mean()  # a small part of a sum whose large part is in metres

    return Step(model, compute, torch.optim.AdamW(model.parameters(), 1e-4))


@case(
    library="pytorch_metric_learning",
    source="https://github.com/KevinMusgrave/pytorch-metric-learning/issues/268",
    cause=("zero-factor", "empty-selection"),
)
def no_triplet_left():
    from pytorch_metric_learning.losses import TripletMarginLoss

    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    criterion = TripletMarginLoss(margin=0.05)  #!
    label = torch.arange(2).repeat_interleave(8)
    x = torch.randn(2, 16)[label] * 5 + 0.01 * torch.randn(16, 16)  # separated by other training

    def compute():
        return criterion(model(x), label)  #!

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-4))


@case(
    library="torchvision",
    source="https://github.com/Hiyuur/SR-TOD/issues/5",
    cause="staircase",
)
def learnable_threshold():
    from torchvision.models import resnet18

    class DifferenceMap(nn.Module):
        """Marks where a reconstruction differs from the image, and strengthens these features."""

        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*list(resnet18().children())[:6])
            self.reconstruct = nn.Sequential(nn.Conv2d(128, 48, 1), nn.PixelShuffle(4))
            self.threshold = nn.Parameter(torch.tensor(0.2))
            self.head = nn.Linear(128, 5)

        def forward(self, image):
            features = self.features(image)
            half = F.interpolate(image, scale_factor=0.5)
            again = self.reconstruct(features)
            difference = (again - half).abs().mean(1, keepdim=True)
            mask = (torch.sign(difference - self.threshold) + 1) * 0.5  #!
            mask = F.interpolate(mask, features.shape[-2:])
            return self.head((features * (1 + mask)).mean((2, 3))), F.mse_loss(again, half)

    model = DifferenceMap()
    image, label = torch.rand(4, 3, 64, 64), torch.randint(5, (4,))

    def compute():
        scores, reconstruction = model(image)
        return F.cross_entropy(scores, label) + reconstruction

    return Step(model, compute, torch.optim.SGD(model.parameters(), 0.01))


@case(
    library="torch",
    source="https://github.com/ssui-liu/learnable-embed-sizes-for-RecSys/issues/4",
    cause="saturated",
)
def pruning_threshold_of_an_embedding():
    class PrunedEmbedding(nn.Module):
        """Shrinks each number by a threshold that is learned for each feature."""

        def __init__(self, features, width):
            super().__init__()
            self.values = nn.Parameter(torch.randn(features, width))
            self.s = nn.Parameter(torch.full((features, 1), -150.0))  #!

        def forward(self, ids):
            shrunk = self.values.sign() * F.relu(self.values.abs() - self.s.sigmoid())  #!
            return shrunk[ids]

    class ClickRate(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = PrunedEmbedding(60, 8)
            self.layers = nn.Sequential(nn.Linear(40, 32), nn.Tanh(), nn.Linear(32, 1))

        def forward(self, ids):
            return self.layers(self.embedding(ids).flatten(1)).squeeze(-1)

    model = ClickRate()
    ids, clicked = torch.randint(60, (256, 5)), torch.randint(2, (256,)).float()

    def compute():
        return F.binary_cross_entropy_with_logits(model(ids), clicked)

    return Step(model, compute, torch.optim.Adam(model.parameters(), 1e-3))


@case(
    library="torch",
    source="https://github.com/torch/torch7/issues/1092",
    cause="shrinks",
)
def regression_by_many_sigmoids():
    widths = [28, 56, 58, 112, 114, 112, 114, 112, 58, 56, 58, 56, 28, 28]
    layers = []
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), nn.Sigmoid()]  #!
    model = nn.Sequential(*layers, nn.Linear(28, 1))
    x, y = torch.rand(64, 28), torch.rand(64, 1)

    def compute():
        return F.mse_loss(model(x), y)  #!

    return Step(model, compute, torch.optim.SGD(model.parameters(), 0.1))
