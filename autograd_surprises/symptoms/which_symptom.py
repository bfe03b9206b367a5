"""Which symptom the gradient of a tensor has. The search of that symptom finds the reason."""

import re

import torch

from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.none import (
    cut,
    hidden,
    left_out,
    never_connected,
    not_kept,
    returned_none,
    untracked,
)
from autograd_surprises.symptoms.nonfinite import nonfinite
from autograd_surprises.symptoms.partial import partial
from autograd_surprises.symptoms.rule import Rule
from autograd_surprises.symptoms.tiny import tiny
from autograd_surprises.symptoms.wrong import accumulated
from autograd_surprises.symptoms.zero import cancelled, zero

NO_TOKEN = Rule(
    "empty-selection/expert",
    "nothing was selected for it in this batch, while {name}, of the same shape, got some samples",
    "do nothing if the model sends each sample to a few of its experts",
    alarm=False,
)


def empty(gradient: Gradient) -> Finding | None:
    """The finding about a tensor without elements."""
    return None if gradient.size.total else Finding(gradient.name, "ok", node="it has no elements")


def whole(gradient: Gradient) -> Finding:
    """The finding about a gradient with nothing wrong."""
    return Finding(gradient.name, "ok", node=gradient.in_words)


# The first search that finds something has the last word. The order matters: each relies on what
# those before it have ruled out.
SEARCHES = (
    *(untracked, hidden, left_out, cut, never_connected, returned_none),
    *(nonfinite, empty, zero, cancelled, tiny, partial, whole),
)


def finding_about(exam: Examination, name: str, tensor: torch.Tensor) -> Finding:
    """What happened to the gradient of one tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> explain((w * 3).sum(), {"w": w})["w"].node
    '2 of 2 not 0'
    """
    gradient = Gradient(exam, name, tensor)
    found = next(found for search in SEARCHES if (found := search(gradient)) is not None)
    if tensor.grad_fn is not None and not tensor.retains_grad:
        return not_kept(gradient, found)
    if tensor.is_leaf and tensor.grad is not None and found.status in ("ok", "partial"):
        return accumulated(exam, found, tensor)
    return found


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
