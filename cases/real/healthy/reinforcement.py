"""Reinforcement learning: value functions with targets, policies, preferences."""

import copy

import numpy as np
import torch
import transformers as tf
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy
from torch import nn
from torch.nn import functional as F
from trl.trainer.utils import selective_log_softmax

from cases.case import Step, case

SB3 = "https://github.com/DLR-RM/stable-baselines3/blob/master/stable_baselines3/"
CONTRIB = (
    "https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/blob/master/sb3_contrib/"
)
TRL = "https://github.com/huggingface/trl/blob/main/trl/trainer/"
SEEN = spaces.Box(-1, 1, (6,), np.float32)
ACTS = spaces.Box(-1, 1, (2,), np.float32)
FOUR = spaces.Discrete(4)


def rate(_):
    return 1e-3


def transitions(n=16):
    """Observations, the next ones, rewards, and whether the episode ended."""
    rewards, dones = torch.randn(n, 1), (torch.rand(n, 1) < 0.2).float()
    return torch.randn(n, 6), torch.randn(n, 6), rewards, dones


@case(library="stable_baselines3", source=SB3 + "dqn/dqn.py")
def dqn_target_network():
    policy = DQNPolicy(SEEN, FOUR, rate, net_arch=[32, 32])
    seen, later, rewards, dones = transitions()
    actions = torch.randint(0, 4, (16, 1))

    def compute():
        with torch.no_grad():
            best = policy.q_net_target(later).max(dim=1).values.reshape(-1, 1)
            goal = rewards + (1 - dones) * 0.99 * best
        return F.smooth_l1_loss(policy.q_net(seen).gather(1, actions), goal)

    return Step(policy, compute, policy.optimizer)


@case(library="stable_baselines3", source="https://arxiv.org/abs/1509.06461")
def double_dqn():
    online = QNetwork(SEEN, FOUR, nn.Flatten(), 6, net_arch=[32, 32])
    target = copy.deepcopy(online)
    target.requires_grad_(False)
    seen, later, rewards, dones = transitions()
    actions = torch.randint(0, 4, (16, 1))

    def compute():
        with torch.no_grad():
            chosen = online(later).argmax(dim=1, keepdim=True)
            goal = rewards + (1 - dones) * 0.99 * target(later).gather(1, chosen)
        return F.smooth_l1_loss(online(seen).gather(1, actions), goal)

    model = nn.ModuleDict({"online": online, "target": target})
    return Step(model, compute, torch.optim.Adam(online.parameters(), lr=1e-3))


@case(library="stable_baselines3", source=SB3 + "sac/sac.py")
def sac_critic():
    policy = SACPolicy(SEEN, ACTS, rate, net_arch=[32, 32])
    seen, later, rewards, dones = transitions()
    actions = torch.rand(16, 2) * 2 - 1

    def compute():
        with torch.no_grad():
            next_actions, log_prob = policy.actor.action_log_prob(later)
            values = torch.cat(policy.critic_target(later, next_actions), dim=1)
            value = values.min(dim=1, keepdim=True).values - 0.2 * log_prob.reshape(-1, 1)
            goal = rewards + (1 - dones) * 0.99 * value
        return 0.5 * sum(F.mse_loss(value, goal) for value in policy.critic(seen, actions))

    return Step(policy, compute, policy.critic.optimizer)


@case(library="stable_baselines3", source=SB3 + "sac/sac.py")
def sac_actor():
    """The gradient passes through the critics, which another optimizer holds."""
    policy = SACPolicy(SEEN, ACTS, rate, net_arch=[32, 32])
    seen, *_ = transitions()

    def compute():
        actions, log_prob = policy.actor.action_log_prob(seen)
        values = torch.cat(policy.critic(seen, actions), dim=1)
        return (0.2 * log_prob.reshape(-1, 1) - values.min(dim=1, keepdim=True).values).mean()

    return Step(policy, compute, policy.actor.optimizer)


@case(library="stable_baselines3", source=SB3 + "td3/td3.py")
def td3_twin_critics():
    policy = TD3Policy(SEEN, ACTS, rate, net_arch=[32, 32])
    seen, later, rewards, dones = transitions()
    actions = torch.rand(16, 2) * 2 - 1

    def compute():
        with torch.no_grad():
            noise = (torch.randn_like(actions) * 0.2).clamp(-0.5, 0.5)
            next_actions = (policy.actor_target(later) + noise).clamp(-1, 1)
            values = torch.cat(policy.critic_target(later, next_actions), dim=1)
            goal = rewards + (1 - dones) * 0.99 * values.min(dim=1, keepdim=True).values
        return sum(F.mse_loss(value, goal) for value in policy.critic(seen, actions))

    return Step(policy, compute, policy.critic.optimizer)


@case(library="stable_baselines3", source=SB3 + "td3/td3.py")
def td3_actor():
    """Only the first critic judges the actor; the second one and the targets take no part."""
    policy = TD3Policy(SEEN, ACTS, rate, net_arch=[32, 32])
    seen, *_ = transitions()

    def compute():
        return -policy.critic.q1_forward(seen, policy.actor(seen)).mean()

    return Step(policy, compute, policy.actor.optimizer)


@case(library="stable_baselines3", source=SB3 + "ddpg/ddpg.py")
def ddpg_actor():
    """DDPG is TD3 with one critic."""
    policy = TD3Policy(SEEN, ACTS, rate, net_arch=[32, 32], n_critics=1)
    seen, *_ = transitions()

    def compute():
        return -policy.critic.q1_forward(seen, policy.actor(seen)).mean()

    return Step(policy, compute, policy.actor.optimizer)


@case(library="stable_baselines3", source=SB3 + "ppo/ppo.py")
def ppo_clipped():
    """Later epoch of PPO: the ratio of some samples is beyond the clip range."""
    policy = ActorCriticPolicy(SEEN, FOUR, rate)
    seen, returns = torch.randn(32, 6), torch.randn(32)
    actions, advantages = torch.randint(0, 4, (32,)), torch.randn(32)
    with torch.no_grad():
        old = policy.evaluate_actions(seen, actions)[1] + 0.3 * torch.randn(32)

    def compute():
        values, log_prob, entropy = policy.evaluate_actions(seen, actions)
        normed = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(log_prob - old)
        gain = torch.min(normed * ratio, normed * ratio.clamp(0.8, 1.2)).mean()
        return -gain - 0.01 * entropy.mean() + 0.5 * F.mse_loss(returns, values.flatten())

    return Step(policy, compute, policy.optimizer)


@case(library="stable_baselines3", source=SB3 + "a2c/a2c.py")
def a2c_continuous():
    policy = ActorCriticPolicy(SEEN, ACTS, rate, optimizer_class=torch.optim.RMSprop)
    seen, returns, advantages = torch.randn(20, 6), torch.randn(20), torch.randn(20)
    actions = torch.randn(20, 2)

    def compute():
        values, log_prob, entropy = policy.evaluate_actions(seen, actions)
        policy_loss = -(advantages * log_prob).mean()
        value_loss = F.mse_loss(returns, values.flatten())
        return policy_loss - 0.01 * entropy.mean() + 0.5 * value_loss

    return Step(policy, compute, policy.optimizer)


@case(library="sb3_contrib", source=CONTRIB + "ppo_mask/ppo_mask.py")
def ppo_masked_actions():
    """Invalid actions have probability 0, and take no part in the entropy."""
    policy = MaskableActorCriticPolicy(SEEN, spaces.Discrete(5), rate)
    seen, advantages, returns = torch.randn(24, 6), torch.randn(24), torch.randn(24)
    valid = torch.rand(24, 5) < 0.6
    valid[:, 0] = True
    with torch.no_grad():
        actions, _, old = policy(seen, action_masks=valid.numpy())

    def compute():
        values, log_prob, entropy = policy.evaluate_actions(seen, actions, action_masks=valid)
        ratio = torch.exp(log_prob - old)
        gain = torch.min(advantages * ratio, advantages * ratio.clamp(0.8, 1.2)).mean()
        return -gain - 0.01 * entropy.mean() + 0.5 * F.mse_loss(returns, values.flatten())

    return Step(policy, compute, policy.optimizer)


def small_gpt2():
    config = tf.GPT2Config(
        vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return tf.AutoModelForCausalLM.from_config(config)


def log_probs(model, ids):
    return selective_log_softmax(model(input_ids=ids).logits[:, :-1], ids[:, 1:])


@case(library="trl", source=TRL + "dpo_trainer.py")
def dpo():
    """Chosen answers against rejected ones; the reference model is frozen."""
    policy, reference = small_gpt2().train(), small_gpt2().eval()
    reference.load_state_dict(policy.state_dict())
    reference.requires_grad_(False)
    prompts = torch.randint(3, 100, (4, 5))
    chosen = torch.cat([prompts, torch.randint(3, 100, (4, 6))], 1)
    rejected = torch.cat([prompts, torch.randint(3, 100, (4, 6))], 1)

    def answer(model, ids):
        return log_probs(model, ids)[:, 4:].sum(1)

    def compute():
        with torch.no_grad():
            base = answer(reference, chosen) - answer(reference, rejected)
        margin = answer(policy, chosen) - answer(policy, rejected) - base
        return -F.logsigmoid(0.1 * margin).mean()

    model = nn.ModuleDict({"policy": policy, "reference": reference})
    return Step(model, compute, torch.optim.AdamW(policy.parameters(), lr=1e-3))


@case(library="trl", source=TRL + "grpo_trainer.py")
def grpo():
    """First update after sampling: every ratio is 1, and the advantages of a group add up to 0."""
    policy, reference = small_gpt2().train(), small_gpt2().eval().requires_grad_(False)
    ids, mask = torch.randint(3, 100, (4, 12)), torch.ones(4, 8)
    mask[1, 5:] = mask[3, 2:] = 0
    rewards = torch.tensor([1.0, 0.0, 0.5, 0.0])
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)

    def compute():
        with torch.no_grad():
            anchor = log_probs(reference, ids)[:, 3:]
        logps = log_probs(policy, ids)[:, 3:]
        ratio = torch.exp(logps - logps.detach())
        scaled, clipped = ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None]
        kl = torch.exp(anchor - logps) - (anchor - logps) - 1
        losses = -torch.min(scaled, clipped) + 0.04 * kl
        return ((losses * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()

    model = nn.ModuleDict({"policy": policy, "reference": reference})
    return Step(model, compute, torch.optim.AdamW(policy.parameters(), lr=1e-3))


@case(library="trl", source=TRL + "reward_trainer.py")
def reward_model():
    """Two scores are compared, so the last bias cancels: its gradient is 0."""
    config = tf.GPT2Config(
        vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64, num_labels=1, pad_token_id=0
    )
    model = tf.AutoModelForSequenceClassification.from_config(config).train()
    chosen, rejected = torch.randint(3, 100, (4, 9)), torch.randint(3, 100, (4, 9))
    chosen[1, 6:] = rejected[2, 4:] = 0

    def compute():
        better = model(input_ids=chosen, attention_mask=(chosen != 0).long()).logits
        worse = model(input_ids=rejected, attention_mask=(rejected != 0).long()).logits
        return -F.logsigmoid(better - worse).mean()

    return Step(model, compute, torch.optim.AdamW(model.parameters(), lr=1e-3))
