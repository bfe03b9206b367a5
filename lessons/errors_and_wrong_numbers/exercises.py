"""Checks on an error of backward, and on a module with two bugs that raises none."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.bug_hunt import CallRecorder, gradients_of_loss, hunt
from lessons.asking.registry import NotDone, Wrong, check_of


def _shares_loss(weight, x, target):
    return ((torch.softmax(x @ weight, dim=1) - target) ** 2).mean()


@check_of("errors_and_wrong_numbers.1", "No error, and the gradient of the shares.")
def check_repaired_shares_loss(answer):
    points = [
        random_tensors(seed, (2, classes), (rows, 2), (rows, classes))
        for seed, (rows, classes) in enumerate([(4, 3), (4, 3), (5, 2)])
    ]
    mistakes = {
        "Those shares add up to 1 over the samples, expected over the classes.": (
            lambda w, x, t: ((torch.softmax(x @ w, dim=0) - t) ** 2).mean()
        ),
        "The exponentials are not divided by their sum.": (
            lambda w, x, t: ((torch.exp(x @ w) - t) ** 2).mean()
        ),
        "That is the sum, expected the mean.": lambda w, x, t: _shares_loss(w, x, t) * t.numel(),
    }
    hunt(answer, _shares_loss, points, mistakes)


NUMBERS = {"heights[0]": 1.0, "heights[1]": -0.5, "centers[0]": -1.0, "centers[1]": 2.0}
NAMES, AT_FIRST = list(NUMBERS), list(NUMBERS.values())


def _bumps(numbers, x):
    heights, centers = numbers[:2], numbers[2:]
    return torch.exp(-((x - centers) ** 2)) @ heights


@check_of(
    "errors_and_wrong_numbers.2",
    "Four numbers trained, on the intended loss.",
    inputs=[(6, torch.float64), (4, torch.float32)],
)
def check_repaired_bumps(answer, rows, dtype):
    if isinstance(answer, type) and not any(callable(each) for each in vars(answer).values()):
        raise NotDone  # no method has been written
    model = call_answer(answer).to(dtype)
    parameters = list(model.parameters())
    places = _places(parameters)
    numbers, x, target = random_tensors(rows, (4,), (rows, 1), (rows,), dtype=dtype)
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(numbers[places], parameters)
    bumps = _bumps(numbers.requires_grad_(), x)
    right = ((bumps - target) ** 2).mean()
    with CallRecorder() as calls:
        y, loss = call_answer(model, x), call_answer(model.loss, x, target)
    if y.shape != x.shape:
        raise Wrong(
            f"forward: yours has shape {tuple(y.shape)} for x of shape {tuple(x.shape)}, expected "
            "the same shape: callers of forward rely on that. The bug is in loss."
        )
    expect_close("value of forward", y, bumps[:, None])
    every = (bumps[:, None] - target) ** 2
    mistakes = {
        "That is the mean over 6 × 6: (6, 1) minus (6,) is (6, 6).": every.mean(),
        "That is the sum, expected the mean.": every.diagonal().sum(),
    }
    expect_close("loss", loss, right, mistakes)
    (gradients,) = torch.autograd.grad(right, numbers)
    found = gradients_of_loss(loss, parameters, calls)
    flat = [
        (torch.zeros_like(p) if gradient is None else gradient).flatten()
        for p, gradient in zip(parameters, found, strict=True)
    ]
    for place, gradient in zip(places, torch.cat(flat), strict=True):
        where = f"gradient with respect to {NAMES[place]}"
        expect_close(where, gradient, gradients[place], why=calls.reason)


def _places(parameters):
    """For each number in the parameters its place in NUMBERS, found by its first value."""
    values = torch.cat([p.detach().flatten() for p in parameters]).tolist() if parameters else []
    if len(values) != len(NUMBERS):
        raise Wrong(
            f"registered parameters: yours {len(values)} numbers, expected 4: two heights and two "
            "centers. Not registered: tensors in a plain list, buffers, tensors that are not "
            "nn.Parameters."
        )
    if sorted(values) != sorted(AT_FIRST):
        raise Wrong(f"parameters at first: yours {values}, expected {AT_FIRST}.")
    return [AT_FIRST.index(value) for value in values]
