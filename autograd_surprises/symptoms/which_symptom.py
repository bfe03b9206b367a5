"""Which symptom the gradient of a tensor has. The search of that symptom finds the reason."""

import re

import torch

from autograd_surprises.facts.graph import edge_of
from autograd_surprises.symptoms.examination import TINY_SHARE, Examination
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.none import (
    LEFT_OUT,
    hidden,
    not_kept,
    returned_none,
    unreached,
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


def finding_about(exam: Examination, name: str, tensor: torch.Tensor) -> Finding:
    """What happened to the gradient of one tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> explain((w * 3).sum(), {"w": w})["w"].node
    '2 of 2 not 0'
    """
    if not tensor.requires_grad or tensor.is_inference():
        return untracked(exam, name, tensor)
    found = _of_its_gradient(exam, name, tensor, edge_of(tensor))
    if tensor.grad_fn is not None and not tensor.retains_grad:
        return not_kept(exam, found, tensor)
    if tensor.is_leaf and tensor.grad is not None and found.status in ("ok", "partial"):
        return accumulated(exam, found, tensor)
    return found


def _of_its_gradient(exam, name, tensor, edge):
    walked = exam.backward
    if walked is None or (edge not in walked.into and edge[0] is not walked.root.node):
        return _of_no_path(exam, name, tensor)
    gradient = walked.grads.get(id(tensor))
    if gradient is None:
        return returned_none(exam, name, edge)
    size = gradient.size
    if not size.finite:
        return nonfinite(exam, name, size, edge)
    if not size.total:
        return Finding(name, "ok", node="it has no elements")
    if size.nonzero == 0:
        return zero(exam, name, tensor, edge)
    found = cancelled(exam, name, tensor, edge)
    if found is None and size.l1 < TINY_SHARE * exam.entered:
        found = tiny(exam, name, tensor, size, edge)
    if found is None and size.nonzero < size.total:
        found = partial(exam, name, gradient, edge)
    return found or Finding(name, "ok", node=f"{size.in_words()} not 0")


def _of_no_path(exam, name, tensor):
    """No path in the graph leads to it from the loss."""
    if exam.backward is not None and id(tensor) in exam.backward.hidden:
        return hidden(name, exam.backward.grads[id(tensor)].size)
    if not exam.asked and exam.leaves_out(tensor):
        return LEFT_OUT.finding().about(name, "none")
    return unreached(exam, name, tensor)


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
