"""Exercises on finding what is wrong with a gradient: three bug hunts."""

import torch
from torch import nn

from lessons.exercises.answers import call_answer, expect_close
from lessons.exercises.bug_hunt import (
    HOOK,
    CallRecorder,
    expect_exact_value,
    gradients_of_loss,
    hunt,
    measured_slopes,
)
from lessons.exercises.exercise import Exercise, NotDone, Wrong
from lessons.exercises.seeded import random_tensors


def _fit_loss(weight, x, target):
    return ((torch.tanh(x @ weight) - target) ** 2).mean()


def _check_repaired_fit_loss(answer):
    points = [
        random_tensors(seed, (wide,), (rows, wide), (rows,))
        for seed, (wide, rows) in enumerate([(3, 5), (3, 5), (2, 4)])
    ]
    mistakes = {
        "That is the sum, expected the mean.": lambda w, x, t: len(x) * _fit_loss(w, x, t),
        "The tanh is missing.": lambda w, x, t: ((x @ w - t) ** 2).mean(),
    }
    hunt(answer, _fit_loss, points, mistakes)


def _direction_loss(weight, tokens, seen, target):
    directions = nn.functional.normalize(tokens[seen] @ weight, eps=0.0)
    return ((directions - target[seen]) ** 2).sum() / seen.sum()


def _check_repaired_direction_loss(answer):
    points = []
    for seed, (padded, rows, wide) in enumerate((([3], 5, 2), ([0, 4], 5, 2), ([], 6, 3))):
        weight, tokens, target = random_tensors(seed, (4, wide), (rows, 4), (rows, wide))
        seen = torch.ones(rows, dtype=torch.bool)
        seen[padded] = False
        tokens[~seen] = 0.0
        tokens[1] *= 1e-3  # a short vector, to which an added number makes a difference
        points.append((weight, tokens, seen, target))
    mistakes = {
        "That is the mean over all rows, expected over those that are seen.": (
            lambda w, tokens, seen, target: (
                _direction_loss(w, tokens, seen, target) * seen.sum() / len(seen)
            )
        ),
        "The padded rows count, too: they have to be left out.": (
            lambda w, tokens, seen, target: (
                _direction_loss(w, tokens, seen, target) + (target[~seen] ** 2).sum() / seen.sum()
            )
        ),
        "The vectors are not divided by their length.": (
            lambda w, tokens, seen, target: ((tokens @ w - target)[seen] ** 2).sum() / seen.sum()
        ),
    }
    hunt(answer, _direction_loss, points, mistakes)


NUMBERS = {"heights[0]": 1.0, "heights[1]": -0.5, "centers[0]": -1.0, "centers[1]": 2.0}


def _bumps(numbers, x):
    heights, centers = numbers[:2], numbers[2:]
    return torch.exp(-((x - centers) ** 2)) @ heights


def _check_repaired_bumps(answer):
    if isinstance(answer, type) and not any(callable(each) for each in vars(answer).values()):
        raise NotDone  # no method has been written
    model = _built(answer)
    named = dict(nn.Module.named_parameters(model))  # not a method of the learner's
    parameters = list(named.values())
    roles = _roles(parameters)
    frozen = [name for name, p in named.items() if not p.requires_grad]
    if frozen:
        raise Wrong(f"{frozen[0]}: yours has requires_grad=False, but it is to be trained.")
    for seed, rows in enumerate((6, 6, 4)):
        numbers, x, target = random_tensors(seed, (4,), (rows, 1), (rows,))
        if not seed:
            numbers = torch.tensor([*NUMBERS.values()]).double()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(numbers[roles], parameters)
        with CallRecorder() as calls:
            y, loss = call_answer(model, x), call_answer(model.loss, x, target)
        _check_values(f"for random numbers {seed + 1}", y, loss, _bumps(numbers, x), target, calls)
        slopes = measured_slopes(
            lambda n, x=x, target=target: ((_bumps(n, x) - target) ** 2).mean(), numbers
        )
        found = gradients_of_loss(loss, parameters, calls)
        for name, gradient, slope in _by_role(roles, parameters, found, slopes):
            reason = calls.reason or "forward uses a copy of it."
            why = f"Finite differences say otherwise. {reason}"
            expect_close(f"gradient of {name}", gradient, slope, why=why)
    _expect_in_float32(model.float(), x.float(), target.float(), y.float(), loss.float())


def _expect_in_float32(model, x, target, y, loss):
    expect_close("value of forward in float32", call_answer(model, x), y.detach())
    expect_close("loss in float32", call_answer(model.loss, x, target), loss.detach())


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


def _roles(parameters):
    """For each number in the parameters its place in NUMBERS, told by its first value."""
    values = [value for p in parameters for value in p.detach().flatten().tolist()]
    if len(values) != len(NUMBERS):
        why = (
            "Not registered: tensors in a plain list, buffers, tensors that are not nn.Parameters."
            if len(values) < len(NUMBERS)
            else ""
        )
        raise Wrong(
            f"registered parameters: yours {len(values)} numbers, expected 4: two heights and two "
            f"centers. {why}".strip()
        )
    if sorted(values) != sorted(NUMBERS.values()):
        raise Wrong(f"parameters at first: yours {values}, expected {[*NUMBERS.values()]}.")
    return [[*NUMBERS.values()].index(value) for value in values]


def _check_values(where, y, loss, bumps, target, calls):
    if y.shape != (len(bumps), 1):
        raise Wrong(
            f"forward: yours has shape {tuple(y.shape)} for x of shape {(len(bumps), 1)}, expected "
            "the same shape: callers of forward rely on that. The bug is in loss."
        )
    expect_close(f"value of forward {where}", y, bumps[:, None])
    every = (bumps[:, None] - target) ** 2
    mistakes = {
        "That is the mean over 6 × 6: (6, 1) minus (6,) is (6, 6).": every.mean(),
        "That is the sum over 6 × 6: (6, 1) minus (6,) is (6, 6), and a mean is asked for.": (
            every.sum()
        ),
        "That is the sum, expected the mean.": every.diagonal().sum(),
    }
    right = ((bumps - target) ** 2).mean()
    expect_exact_value(f"loss {where}", loss, right, mistakes, calls.dtypes)


def _by_role(roles, parameters, gradients, slopes):
    """(name, gradient, slope) of each of the four numbers; without a path the gradient is 0."""
    flat = [
        (torch.zeros_like(p) if gradient is None else gradient).flatten()
        for p, gradient in zip(parameters, gradients, strict=True)
    ]
    for place, gradient in zip(roles, torch.cat(flat), strict=True):
        yield [*NUMBERS][place], gradient, slopes[place]


EXERCISES = (
    Exercise(
        "08.1",
        "A cut that requires_grad_() hides",
        6,
        "`fit_loss`, in the cell below, returns the right number, and `backward()` runs. But "
        "`weight.grad` stays `None`. Write `repaired_fit_loss(weight, x, target)` with the same "
        "value and the true gradient: for three random weights, `check` compares it with finite "
        "differences.",
        (
            "First remove the last line's `requires_grad_()`. What does `backward()` say now?",
            "`t.explain(loss, {'weight': weight})` after `with trace() as t:` names the line where "
            "the gradient is lost.",
            "Autograd records what is written into `score`, but not what is written into "
            "`score.data`. Or make all scores at once, without a loop.",
        ),
        _check_repaired_fit_loss,
        "The true gradient, and nothing left that hides the next cut.",
    ),
    Exercise(
        "08.2",
        "Padding that makes NaN",
        8,
        "`direction_loss`, in the cell below, compares the directions of `tokens @ weight` with "
        "`target`. Rows that are not `seen` are padding: zeros. The loss is a good number, but "
        "every entry of `weight.grad` is NaN. Write `repaired_direction_loss(weight, tokens, seen, "
        "target)` with exactly the same value (do not add a small number) and the true gradient.",
        (
            "Which operation has an infinite gradient, or divides by zero, for a row of zeros?",
            "`torch.where` at the end comes too late: backward multiplies its 0 by infinity or by "
            "NaN. Two operations are unsafe for a row of zeros, the root and the division. Give "
            "*both* a safe input.",
            "With `torch.where(seen[:, None], squared, 1.0)`, the padded rows have the length 1.",
        ),
        _check_repaired_direction_loss,
        "No NaN, and the value has not changed.",
    ),
    Exercise(
        "08.3",
        "Two bugs in one module",
        8,
        "`Bumps`, in the cell below, should learn two heights and two centers. It trains, but "
        "badly, for two reasons. Write `RepairedBumps`: all four numbers are trained, `loss` is "
        "the mean of the n squared errors, and `forward` keeps its shapes. It can derive from "
        "`Bumps`.",
        (
            "How many numbers are there in `Bumps().parameters()`?",
            "Print `(model(x) - target).shape` for five data points.",
            "`nn.ParameterList` for the first bug, `.squeeze(1)` in `loss` for the second.",
        ),
        _check_repaired_bumps,
        "Four numbers trained, on the intended loss.",
    ),
)
