"""What fn writes into, what may be written into afterwards, and what the graph keeps."""

import torch

from autograd_surprises.facts.graph import nodes
from autograd_surprises.numerics import few_digits
from autograd_surprises.report_card.example import flat, pattern
from autograd_surprises.report_card.operators import operator_calls
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.verdict import require_equal

MARK = "make a new tensor, or say so with ctx.mark_dirty(x) and return x"
DECLARE = "make a new tensor: an operator that writes into its input cannot have a backward"


def input_untouched(subject: Subject) -> str | None:
    """Forward and backward leave the input as it was, unless fn says that it works in place.

    >>> input_untouched(Subject(torch.relu_, (torch.ones(2),)))
    'fn works in place, and tells autograd'
    """
    tensors = subject.tensors()
    inputs = [tensor.clone().requires_grad_().clone() for tensor in tensors]
    before = [tensor.grad_fn for tensor in inputs]
    y = subject.apply(inputs)
    changed = not torch.equal(flat(inputs), flat(tensors))
    told = all(
        x.grad_fn is not node or torch.equal(x, tensor)
        for x, node, tensor in zip(inputs, before, tensors, strict=True)
    )
    if changed and told:
        return "fn works in place, and tells autograd"
    torch.autograd.grad(y, inputs, pattern(y), allow_unused=True)
    where = subject.at(tensors, "fn writes into its input, {}")
    remedy = DECLARE if operator_calls(subject) else MARK
    require_equal(flat(inputs), flat(tensors), where, remedy)
    return None


def grad_output_untouched(subject: Subject) -> None:
    """Backward leaves grad_output as it was: others may be given the same tensor."""
    y, leaves = subject.run(subject.tensors())
    upstream = pattern(y)
    torch.autograd.grad(y, leaves, upstream, allow_unused=True)
    where = "backward writes into grad_output, number {}".format
    remedy = "make a new tensor: grad_output * 2 instead of grad_output.mul_(2)"
    require_equal(upstream, pattern(y), where, remedy)


def in_place_safety(subject: Subject) -> None:
    """Input or output changed after the call: the same gradient, or torch's own error."""
    tensors = subject.tensors()
    upstream = pattern(subject.call(tensors))
    for what, change, factor in (("input", _overwrite, 1), ("output", _double, 2)):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        inputs = [leaf.clone() for leaf in leaves]
        try:
            y = change(inputs, subject.apply(inputs))
            grads = torch.autograd.grad(y, leaves, upstream.clone(), materialize_grads=True)
        except RuntimeError:  # which is not silent
            continue
        expected = subject.gradients(tensors, factor * upstream)
        where = subject.at(tensors, f"{what} changed in place after the call, {{}}")
        remedy = "keep tensors with ctx.save_for_backward, which notices: not as ctx.x = x"
        require_equal(flat(grads), flat(expected), where, remedy)


def _overwrite(inputs, y):
    with torch.no_grad():
        for tensor in inputs:
            tensor.mul_(-1.5).add_(0.75)
    return y


def _double(inputs, y):
    return y.mul_(2)


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
    unit = "byte" if more < 1.01 else "bytes"
    parts += [f"{few_digits(more, 3)} {unit} more for each number"] * (more > 0)
    return f"keeps {' and '.join(parts) or 'nothing'}"


def _storage(tensor):
    return tensor.untyped_storage().data_ptr()
