"""Bad input is refused at once, in the user's words."""

import torch

from autograd_surprises.report_card.subject import Subject
from autograd_surprises.show.findings import first_line

LARGEST = 1000  # a Jacobian has one row for each number that comes out


def subject_of(fn, inputs, like=None) -> Subject:
    """A Subject of what was given. Raises TypeError or ValueError if it cannot be examined.

    >>> subject_of(torch.where, (torch.tensor(True), torch.ones(2), torch.ones(2))).chosen
    (1, 2)
    """
    if not callable(fn):
        raise TypeError(
            f"fn needs to be a function, got {type(fn).__name__}: pass MyFunction.apply or a "
            "function"
        )
    if like is not None and not callable(like):
        raise TypeError(f"like needs to be a function, got {type(like).__name__}")
    if isinstance(fn, type) and issubclass(fn, torch.autograd.Function):
        raise TypeError(f"fn is the class {fn.__name__}: pass {fn.__name__}.apply")
    if isinstance(fn, torch.nn.Module) and any(True for _ in fn.parameters()):
        raise TypeError(
            f"fn is a {type(fn).__name__} with parameters of its own, whose dtype cannot be "
            "changed from outside: pass a function of x and the parameters"
        )
    subject = Subject(fn, tuple(inputs), like, _chosen(inputs))
    y, again = (_first_call(subject, fn, "fn") for _ in range(2))
    if y.shape != again.shape or not torch.equal(y.nan_to_num(), again.nan_to_num()):
        raise ValueError(
            "fn needs to return the same for the same inputs, but two calls differ: "
            "pass what is random as an input"
        )
    if like is not None:
        shape = _first_call(subject, like, "like").shape
        if shape != y.shape:
            raise ValueError(
                f"like needs to return the shape of fn, {tuple(y.shape)}, got {tuple(shape)}"
            )
    numbers = y.numel() + sum(tensor.numel() for tensor in subject.given)
    if subject.grid is None and numbers > LARGEST:
        raise ValueError(
            f"fn needs a small example, of {LARGEST} numbers in and out at most, got {numbers}: "
            "pass a slice, such as x[:4]"
        )
    return subject


def _chosen(inputs):
    floating = [
        place
        for place, tensor in enumerate(inputs)
        if isinstance(tensor, torch.Tensor) and (tensor.is_floating_point() or tensor.is_complex())
    ]
    if not floating:
        given = ", ".join(
            str(i.dtype) if isinstance(i, torch.Tensor) else type(i).__name__ for i in inputs
        )
        raise TypeError(
            "fn needs at least one floating-point or complex tensor to differentiate, got "
            f"{given or 'no inputs'}: pass an example, such as torch.linspace(-2, 2, 9)"
        )
    chosen = tuple(p for p in floating if inputs[p].requires_grad) or tuple(floating)
    for place in chosen:
        if not inputs[place].numel() or not inputs[place].isfinite().all():
            raise ValueError(
                f"input {place} needs finite numbers, at least one: an example of ordinary values; "
                "infinity, NaN and empty tensors are tried anyway"
            )
    return chosen


def _first_call(subject, function, name):
    try:
        y = subject.run(subject.given, function)[0]
    except Exception as error:
        raise ValueError(
            f"{name}(*inputs) needs to run on the example, but raised {type(error).__name__}: "
            f"{first_line(error)}"
        ) from error
    if isinstance(y, (tuple, list)):
        raise TypeError(
            f"{name} needs to return one tensor, got a {type(y).__name__} of {len(y)}: pass a "
            "function that returns one of them, such as lambda *inputs: fn(*inputs)[0]"
        )
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{name} needs to return a tensor, got {type(y).__name__}")
    if not y.is_floating_point():
        raise TypeError(
            f"{name} needs to return a floating-point or complex tensor, got {y.dtype}: only those "
            "have gradients"
        )
    return y.detach()
