"""What the graph keeps for backward, against the least that would do."""

from __future__ import annotations

import torch

from autograd_surprises.report_card.points import slope_on
from autograd_surprises.report_card.subject import Subject


def memory(subject: Subject) -> str:
    """Bytes kept for backward, for each number of the input; no failure, whatever they are.

    >>> memory(Subject(torch.exp, None, (torch.ones(2),), (0,)))
    'keeps the output'
    """
    tensors = subject.example if subject.grid is None else [subject.grid.to(subject.dtype)]
    arguments = subject.arguments([tensor.requires_grad_().clone() for tensor in tensors])
    inputs = [given for given in arguments if isinstance(given, torch.Tensor)]
    kept = []
    keep = lambda tensor: kept.append(tensor) or tensor  # noqa: E731
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = subject.fn(*arguments)
    for node in nodes(y.grad_fn):
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            kept += [thing for thing in vars(node).values() if isinstance(thing, torch.Tensor)]
    places = {_place(tensor): tensor.untyped_storage().nbytes() for tensor in kept}
    more = places.keys() - {_place(tensor) for tensor in (*inputs, y)}
    more = sum(places[place] for place in more) / sum(tensor.numel() for tensor in tensors)
    said = ["the input"] if any(_place(tensor) in places for tensor in inputs) else []
    said += ["the output"] if _place(y) in places and not any(y is x for x in inputs) else []
    alive = bool(said)
    said += [f"{more:.3g} {'byte' if more < 1.01 else 'bytes'} more for each number"] * (more > 0)
    said = f"keeps {' and '.join(said) or 'nothing'}"
    return said if subject.grid is None else said + _advice(subject, alive, more)


def nodes(node) -> list:
    """All nodes of the graph behind this one.

    >>> [type(node).__name__ for node in nodes(torch.ones(1, requires_grad=True).exp().grad_fn)]
    ['ExpBackward0', 'AccumulateGrad']
    """
    found = {node: None}
    waiting = [node]
    while waiting:
        after = [node for node, _ in waiting.pop().next_functions if node and node not in found]
        found.update(dict.fromkeys(after))
        waiting += after
    return list(found)


def _advice(subject, alive, more):
    slopes = slope_on(subject, subject.grid)
    different = torch.round(slopes[slopes.isfinite()], decimals=6).unique().numel()
    if different < 2:
        return "; it needs nothing, the slope is the same everywhere" if alive or more else ""
    if different == 2:
        free = ", and the input costs nothing new where it lives anyway" if alive else ""
        return f"; a bool mask of 1 byte would do{free}" if alive or more > 1.1 else ""
    return "; the input alone would do" if more else ""


def _place(tensor):
    return tensor.untyped_storage().data_ptr()
