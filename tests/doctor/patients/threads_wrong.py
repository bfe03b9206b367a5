"""A gradient arrives, but not the intended one, as in threads about real models."""

import torch
from torch import nn

from patients.patient import Visit, cured, patient

NO_SHAPES = "the graph keeps no line and no shape of a constant: the trace sees both"


def scores_and_column():
    policy = nn.Linear(4, 3)
    log_prob = policy(torch.randn(8, 4)).log_softmax(1)[range(8), torch.randint(3, (8,))]
    return policy, log_prob, torch.randn(8, 1)


@patient(
    "an advantage of each sample with each, made of constants",
    status="wrong", cause="broadcast", missed_alone=NO_SHAPES,
)  # fmt: skip
def advantages_of_constants():
    policy, log_prob, values = scores_and_column()
    advantage = torch.randn(8) - values  #!
    loss = -(advantage * log_prob).mean()
    return Visit(loss, policy)


@cured("advantages_of_constants")
def distances_of_all_pairs():
    policy, log_prob, _ = scores_and_column()
    target = torch.randn(8)
    loss = (log_prob.unsqueeze(1) - target).square().mean()  # each with each is meant
    return Visit(loss, policy)
