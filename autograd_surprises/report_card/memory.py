"""What the graph keeps for backward, against the least that would do."""

import torch

from autograd_surprises.graph import nodes
from autograd_surprises.numerics import few_digits
from autograd_surprises.report_card.subject import Subject


def kept_for_backward(subject: Subject) -> str:
    """Bytes kept for backward, for each number of the input; however many, no failure.

    >>> kept_for_backward(Subject(torch.exp, (torch.ones(2),)))
    'keeps the output'
    """
    tensors = subject.given if subject.grid is None else [subject.grid.to(subject.dtype)]
    arguments = subject.arguments([tensor.requires_grad_().clone() for tensor in tensors])
    inputs = [given for given in arguments if isinstance(given, torch.Tensor)]
    kept = []

    def keep(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = subject.fn(*arguments)
    for node in nodes(y.grad_fn):
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            kept += [thing for thing in vars(node).values() if isinstance(thing, torch.Tensor)]
    sizes = {_storage(tensor): tensor.untyped_storage().nbytes() for tensor in kept}
    more = sizes.keys() - {_storage(tensor) for tensor in (*inputs, y)}
    more = sum(sizes[storage] for storage in more) / sum(tensor.numel() for tensor in tensors)
    parts = ["the input"] if any(_storage(tensor) in sizes for tensor in inputs) else []
    parts += ["the output"] if _storage(y) in sizes and not any(y is x for x in inputs) else []
    alive = bool(parts)
    unit = "byte" if more < 1.01 else "bytes"
    parts += [f"{few_digits(more, 3)} {unit} more for each number"] * (more > 0)
    text = f"keeps {' and '.join(parts) or 'nothing'}"
    return text if subject.grid is None else text + _advice(subject, alive, more)


def _advice(subject, alive, more):
    gradients = subject.gradient_on(subject.grid)
    different = torch.round(gradients[gradients.isfinite()], decimals=6).unique().numel()
    if different < 2:
        return "; it needs nothing, the slope is the same everywhere" if alive or more else ""
    if different == 2:
        free = ", and the input costs nothing new where it lives anyway" if alive else ""
        return f"; a bool mask of 1 byte would do{free}" if alive or more > 1.1 else ""
    return "; the input alone would do" if more else ""


def _storage(tensor):
    return tensor.untyped_storage().data_ptr()
