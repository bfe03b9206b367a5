"""Experts that no sample was sent to in this step: that is no alarm."""

import re

from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.rule import Rule

NO_TOKEN = Rule(
    "empty-selection/expert",
    "nothing was selected for it in this batch, while {name}, of the same shape, got some samples",
    "do nothing if the model sends each sample to a few of its experts",
    alarm=False,
)


def without_idle_experts(findings: list[Finding], targets: dict) -> list[Finding]:
    """The findings, where an expert that no sample was sent to is no alarm.

    It is known by a sibling of the same shape, whose path differs in one number, with a gradient.

    >>> model = torch.nn.Module()
    >>> model.experts = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
    >>> loss = model.experts[1](torch.ones(1, 2)).sum()
    >>> explain(loss, model).healthy
    True
    """
    trained: dict[tuple, str] = {}
    for found in findings:
        if found.status in ("ok", "partial") and found.name in targets:
            trained.setdefault(_place(found.name, targets), found.name)
    return [_without_sample(found, targets, trained) for found in findings]


def _without_sample(found, targets, trained):
    unused = found.cause in ("unused", "unknown-cut", "dead-branch") and "expert" in found.name
    if found.name not in targets or not (unused or found.cause == "empty-selection"):
        return found
    sibling = trained.get(_place(found.name, targets))
    if sibling is None:
        return found
    normal = NO_TOKEN.finding(name=sibling)
    return normal.about(found.name, found.status, found.places, found.node)


def _place(name, targets):
    """A path without its numbers, and the shape of the tensor there."""
    return re.sub(r"(^|(?<=[._]))\d+(?=\.)", "*", name), targets[name].shape
