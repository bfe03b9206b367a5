"""A gradient arrives, but not the intended one.

Each function follows the thread that it cites; the model around the line comes from a
library, or resembles the thread's own.
"""

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Step, case


@case(
    library="transformers",
    source="https://github.com/bkitano/llama-from-scratch/issues/5",
    cause="double-softmax",
)
def softmax_of_a_language_model():
    from transformers import LlamaConfig, LlamaModel

    class SimpleModel(nn.Module):
        def __init__(self, words=120, width=64):
            super().__init__()
            config = LlamaConfig(
                vocab_size=words, hidden_size=width, intermediate_size=128, num_hidden_layers=2,
                num_attention_heads=4, use_cache=False,
            )  # fmt: skip
            self.llama, self.linear = LlamaModel(config), nn.Linear(width, words)

        def forward(self, idx, targets=None):
            a = self.linear(self.llama(idx).last_hidden_state)
            logits = F.softmax(a, dim=-1)  #!
            if targets is None:
                return logits
            return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    model = SimpleModel()
    optimizer = torch.optim.Adam(model.parameters())
    text = torch.randint(120, (4, 17))
    return Step(model, lambda: model(text[:, :-1], text[:, 1:])[1], optimizer)


@case(
    library="timm",
    source="https://github.com/gitabcworld/MatchingNetworks/issues/5",
    cause="double-softmax",
)
def softmax_of_similarities():
    import timm

    class AttentionalClassify(nn.Module):
        def forward(self, similarities, labels):
            return F.softmax(similarities, dim=1) @ labels  #!

    class MatchingNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.g = timm.create_model("mobilenetv3_small_050", num_classes=0)
            self.classify = AttentionalClassify()

        def forward(self, support, labels, query, target):
            support, query = self.g(support), self.g(query)
            similarities = F.cosine_similarity(query[:, None], support[None], dim=-1)
            predicted = self.classify(similarities, F.one_hot(labels, 5).float())
            return F.cross_entropy(predicted, target)

    model = MatchingNetwork()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    support, query = torch.rand(5, 3, 64, 64), torch.rand(3, 3, 64, 64)
    labels, target = torch.arange(5), torch.randint(5, (3,))
    return Step(model, lambda: model(support, labels, query, target), optimizer)


@case(
    library="segmentation_models_pytorch",
    source="https://github.com/avBuffer/UNet3plus_pth/issues/23",
    cause="double-softmax",  # the rule's name for a sigmoid as well
)
def sigmoid_of_a_mask():
    import segmentation_models_pytorch as smp

    class UNet3Plus(nn.Module):
        def __init__(self):
            super().__init__()
            widths = (64, 32, 16, 16, 8)
            self.body = smp.UnetPlusPlus("resnet18", encoder_weights=None, decoder_channels=widths)

        def forward(self, image):
            d1 = self.body(image)
            return torch.sigmoid(d1)  #!

    model = UNet3Plus()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    image, mask = torch.rand(2, 3, 64, 64), torch.randint(2, (2, 1, 64, 64)).float()
    return Step(model, lambda: criterion(model(image), mask), optimizer)


@case(
    library="torchvision",
    source="https://github.com/itakurah/focal-loss-pytorch/pull/5",
    cause="double-softmax",
)
def probabilities_in_a_focal_loss():
    from torchvision.models import resnet18

    class FocalLoss(nn.Module):
        def __init__(self, gamma=2, alpha=0.25):
            super().__init__()
            self.gamma, self.alpha = gamma, alpha

        def forward(self, inputs, targets):
            probs = torch.sigmoid(inputs)
            bce = F.binary_cross_entropy_with_logits(probs, targets, reduction="none")  #!
            p_t = probs * targets + (1 - probs) * (1 - targets)
            alpha_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
            return (alpha_t * (1 - p_t) ** self.gamma * bce).mean()

    model, criterion = resnet18(num_classes=5), FocalLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    image, labels = torch.rand(4, 3, 64, 64), torch.randint(2, (4, 5)).float()
    return Step(model, lambda: criterion(model(image), labels), optimizer)


def _policy(actions):
    """An actor and a critic for 6 observations."""
    from gymnasium.spaces import Box
    from stable_baselines3.common.policies import ActorCriticPolicy

    observations = Box(-1.0, 1.0, (6,))
    return ActorCriticPolicy(observations, actions, lambda progress: 3e-4)


@case(
    library="stable_baselines3",
    source="https://github.com/RLinf/RLinf/issues/1568",
    cause="broadcast",
)
def values_against_a_column_of_returns():
    from gymnasium.spaces import Discrete

    policy = _policy(Discrete(3))
    obs, actions = torch.rand(16, 6), torch.randint(3, (16,))
    old, advantages = -torch.rand(16), torch.randn(16)
    prev_values, returns = torch.randn(16, 1), torch.randn(16, 1)

    def critic_loss(values, clip=0.2):
        clipped = prev_values + (values - prev_values).clamp(-clip, clip)  #!
        return torch.max((returns - values) ** 2, (returns - clipped) ** 2).mean()  #!

    def compute():
        values, log_prob, entropy = policy.evaluate_actions(obs, actions)
        values = values.flatten()  #!
        ratio = (log_prob - old).exp()
        actor = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        return actor + 0.5 * critic_loss(values) - 0.01 * entropy.mean()

    return Step(policy, compute, policy.optimizer)


@case(
    library="stable_baselines3",
    source="https://github.com/thu-ml/tianshou/pull/155",
    cause="broadcast",
)
def log_probabilities_against_a_column():
    from gymnasium.spaces import Box

    policy = _policy(Box(-1.0, 1.0, (2,)))
    obs, actions, returns = torch.rand(16, 6), torch.randn(16, 2), torch.randn(16, 1)

    def compute():
        values, log_prob, entropy = policy.evaluate_actions(obs, actions)
        advantage = (returns - values).detach()
        actor_loss = -(log_prob * advantage).mean()  #!
        return actor_loss + 0.5 * F.mse_loss(values, returns) - 0.01 * entropy.mean()

    return Step(policy, compute, policy.optimizer)
