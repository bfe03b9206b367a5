"""Checks on an error of backward, and on a module with two bugs that raises none."""

import torch
from torch import nn

from lessons.exercises.answers import call_answer, expect_close
from lessons.exercises.arguments import random_tensors
from lessons.exercises.bug_hunt import (
    HOOK,
    CallRecorder,
    expect_exact_value,
    gradients_of_loss,
    hunt,
    measured_slopes,
)
from lessons.exercises.registry import NotDone, Wrong, check_of


def _shares_loss(weight, x, target):
    return ((torch.softmax(x @ weight, dim=1) - target) ** 2).mean()


@check_of("11.1", "No error, and the gradient of the shares.")
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


@check_of("11.2", "Four numbers trained, on the intended loss.")
def check_repaired_bumps(answer):
    if isinstance(answer, type) and not any(callable(each) for each in vars(answer).values()):
        raise NotDone  # no method has been written
    model = _built(answer)
    named = dict(nn.Module.named_parameters(model))  # not a method of the learner's
    parameters = list(named.values())
    places = _places(parameters)
    frozen = [name for name, p in named.items() if not p.requires_grad]
    if frozen:
        raise Wrong(f"{frozen[0]}: yours has requires_grad=False, but it is to be trained.")
    for seed, rows in enumerate((6, 6, 4)):
        numbers, x, target = random_tensors(seed, (4,), (rows, 1), (rows,))
        if not seed:
            numbers = torch.tensor(AT_FIRST).double()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(numbers[places], parameters)
        with CallRecorder() as calls:
            y, loss = call_answer(model, x), call_answer(model.loss, x, target)
        _expect_values(f"for random numbers {seed + 1}", y, loss, _bumps(numbers, x), target, calls)
        slopes = measured_slopes(
            lambda n, x=x, target=target: ((_bumps(n, x) - target) ** 2).mean(), numbers
        )
        found = gradients_of_loss(loss, parameters, calls)
        flat = [
            (torch.zeros_like(p) if gradient is None else gradient).flatten()
            for p, gradient in zip(parameters, found, strict=True)
        ]
        why = f"Finite differences say otherwise. {calls.reason or 'forward uses a copy of it.'}"
        for place, gradient in zip(places, torch.cat(flat), strict=True):
            expect_close(
                f"gradient with respect to {NAMES[place]}", gradient, slopes[place], why=why
            )
    model, x, target = model.float(), x.float(), target.float()
    expect_close("value of forward in float32", call_answer(model, x), y.detach().float())
    single = call_answer(model.loss, x, target)
    expect_close("loss in float32", single, loss.detach().float())


def _built(answer):
    """The learner's module, in float64."""
    if isinstance(answer, nn.Module):
        raise Wrong("needs the class, got an object of it: leave out the brackets.")
    with CallRecorder() as building:
        model = call_answer(answer)
    if "register_hook" in building.called:
        raise Wrong(HOOK)
    if not isinstance(model, nn.Module) or not hasattr(model, "loss"):
        raise Wrong("needs the class of a module with the methods forward and loss.")
    if type(model).parameters is not nn.Module.parameters:
        raise Wrong(
            "parameters() is your own method, so the optimizer would find all four. But "
            "state_dict() and .to() would not: register them, and leave parameters() alone."
        )
    return model.double()


def _places(parameters):
    """For each number in the parameters its place in NUMBERS, found by its first value."""
    values = [value for p in parameters for value in p.detach().flatten().tolist()]
    if len(values) != len(NUMBERS):
        why = (
            "Not registered: tensors in a plain list, buffers, tensors that are not nn.Parameters."
        )
        raise Wrong(
            f"registered parameters: yours {len(values)} numbers, expected 4: two heights and two "
            f"centers. {why if len(values) < len(NUMBERS) else ''}"
        )
    if sorted(values) != sorted(AT_FIRST):
        raise Wrong(f"parameters at first: yours {values}, expected {AT_FIRST}.")
    return [AT_FIRST.index(value) for value in values]


def _expect_values(where, y, loss, bumps, target, calls):
    if y.shape != (len(bumps), 1):
        raise Wrong(
            f"forward: yours has shape {tuple(y.shape)} for x of shape {(len(bumps), 1)}, expected "
            "the same shape: callers of forward rely on that. The bug is in loss."
        )
    expect_close(f"value of forward {where}", y, bumps[:, None])
    every = (bumps[:, None] - target) ** 2
    mean, total = every.mean(), every.sum()
    mistakes = {
        "That is the mean over 6 × 6: (6, 1) minus (6,) is (6, 6).": mean,
        "That is the sum over 6 × 6: (6, 1) minus (6,) is (6, 6), and a mean is asked for.": total,
        "That is the sum, expected the mean.": every.diagonal().sum(),
    }
    right = ((bumps - target) ** 2).mean()
    expect_exact_value(f"loss {where}", loss, right, mistakes, calls.dtypes)
