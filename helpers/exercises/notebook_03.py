"""Exercises on default gradients and kinks."""

import torch
import torch.nn.functional as F

from helpers.exercises.exercise import Exercise, NotDone, Wrong

FIVE_POINTS = (
    ("round at 0.3", torch.round, 0.3, "a step is flat"),
    ("frac at 0.3", torch.frac, 0.3, "frac(x) is x minus a whole number"),
    ("relu at 0", torch.relu, 0.0, "torch chose one of the slopes on the two sides, 0 and 1"),
    ("abs at 0", torch.abs, 0.0, "torch chose the middle of the slopes on the two sides, -1 and 1"),
    ("hardtanh at 1", F.hardtanh, 1.0, "torch chose one of the slopes on the two sides, 1 and 0"),
)


def gradient_at(fn, x: float) -> float:
    """What autograd returns for fn at the point x."""
    point = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(fn(point), point)[0].item()


def _check_five_gradients(answer):
    answer = list(answer) if isinstance(answer, (list, tuple)) else answer
    if answer is None or answer is ... or (isinstance(answer, list) and ... in answer):
        raise NotDone
    if not isinstance(answer, list) or len(answer) != len(FIVE_POINTS):
        raise Wrong(f"needs a list of {len(FIVE_POINTS)} numbers, got {answer!r}.")
    for yours, (where, fn, x, why) in zip(answer, FIVE_POINTS, strict=True):
        expected = gradient_at(fn, x)
        if yours != expected:
            raise Wrong(f"{where}: yours {yours}, expected {expected:g}: {why}.")


def _check_point_of_difference(answer):
    if answer is None or answer is ...:
        raise NotDone
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        raise Wrong(f"needs one number, got {answer!r}.")
    one = gradient_at(lambda x: F.hardtanh(x, 0.0, 1.0), answer)
    other = gradient_at(lambda x: torch.relu(x) - torch.relu(x - 1), answer)
    if one == other:
        place = "inside the range" if 0 < answer < 1 else "outside the range"
        place = "at the lower bound" if answer == 0 else place
        raise Wrong(f"at x = {answer:g}, {place}, both gradients are {one:g}: they do not differ.")


EXERCISES = (
    Exercise(
        "03.1",
        "Five gradients by eye",
        4,
        "Without running anything: what does autograd return for `round` at 0.3, `frac` at 0.3, "
        "`relu` at 0, `abs` at 0 and `hardtanh` at 1? Put the five numbers into a list.",
        (
            "Away from jumps and kinks the gradient is the slope that you see.",
            "At a kink, look for the full dot in the figures above.",
        ),
        _check_five_gradients,
        "Slopes where there are slopes, conventions at the kinks.",
    ),
    Exercise(
        "03.2",
        "Where two spellings differ",
        5,
        "`F.hardtanh(x, 0.0, 1.0)` and `torch.relu(x) - torch.relu(x - 1)` have the same value for "
        "every x. There is exactly one point where their gradients differ. Which x is it?",
        (
            "Away from 0 and 1, both have one slope only, so both gradients equal it.",
            "`hardtanh` gives 0 at both of its bounds. relu's gradient at 0 is 0: what does the "
            "difference of two relus give at x = 0, and at x = 1?",
        ),
        _check_point_of_difference,
        "Same values, other gradient: the spelling chose the subgradient.",
    ),
)
