"""Exercises on default gradients and kinks."""

import torch
import torch.nn.functional as F

from lessons.exercises.answers import as_number
from lessons.exercises.exercise import Exercise, NotDone, Wrong

FIVE_POINTS = (
    ("round at 0.3", torch.round, 0.3, "a step is flat"),
    ("frac at 0.3", torch.frac, 0.3, "frac(x) is x minus a whole number"),
    ("relu at 0", torch.relu, 0.0, "of the numbers between the slopes 0 and 1, nearest to 0"),
    ("abs at 0", torch.abs, 0.0, "of the numbers between the slopes -1 and 1, nearest to 0"),
    ("hardtanh at 1", F.hardtanh, 1.0, "of the numbers between the slopes 1 and 0, nearest to 0"),
)


def gradient_at(fn, x: float) -> float:
    """What autograd returns for fn at the point x."""
    point = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(fn(point), point)[0].item()


def _check_five_gradients(answer):
    if answer is ...:
        raise NotDone
    answer = answer.tolist() if isinstance(answer, torch.Tensor) else answer
    if not isinstance(answer, (list, tuple)) or len(answer) != len(FIVE_POINTS):
        raise Wrong(f"needs a list of {len(FIVE_POINTS)} numbers, got {answer!r}.")
    if ... in answer:
        raise NotDone
    for yours, (where, fn, x, why) in zip(answer, FIVE_POINTS, strict=True):
        expected = gradient_at(fn, x)
        if as_number(yours, f"{where}: ") != expected:
            raise Wrong(f"{where}: yours {yours}, expected {expected:g}: {why}.")


def _check_point_of_difference(answer):
    x = as_number(answer)
    one = gradient_at(lambda x: F.hardtanh(x, 0.0, 1.0), x)
    other = gradient_at(lambda x: torch.minimum(torch.relu(x), torch.ones_like(x)), x)
    if one == other:
        place = "inside the range" if 0 < x < 1 else "outside the range"
        place = "at the lower bound" if x == 0 else place
        raise Wrong(f"at x = {x:g}, {place}, both gradients are {one:g}: they do not differ.")


EXERCISES = (
    Exercise(
        "03.1",
        "Five gradients by eye",
        4,
        "Without running anything: what does autograd return for `round` at 0.3, `frac` at 0.3, "
        "`relu` at 0, `abs` at 0 and `hardtanh` at 1? Put the five numbers into a list.",
        (
            "Away from jumps and kinks the gradient is the slope that you see.",
            "At a kink, PyTorch documents a rule: of the two slopes and all numbers between "
            "them, take the one nearest to 0. These three operations follow it.",
        ),
        _check_five_gradients,
        "Slopes where there are slopes, conventions at the kinks.",
    ),
    Exercise(
        "03.2",
        "Where two spellings differ",
        5,
        "`F.hardtanh(x, 0.0, 1.0)` and `torch.minimum(torch.relu(x), torch.ones_like(x))` have "
        "the same value for every x. At exactly one point their gradients differ. Which x is it?",
        (
            "Away from 0 and 1, both have one slope only, so both gradients equal it.",
            "`hardtanh` returns 0 at both of its bounds. In the other spelling, which operation "
            "decides at x = 0: relu or minimum? And at x = 1, where minimum has a tie?",
        ),
        _check_point_of_difference,
        "Same values, different gradients: the spelling chooses the subgradient.",
    ),
)
