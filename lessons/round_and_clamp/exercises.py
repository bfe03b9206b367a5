"""Checks on default gradients and kinks."""

import torch
import torch.nn.functional as F

from lessons.asking.answers import as_number
from lessons.asking.registry import NotDone, Wrong, check_of

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


@check_of("round_and_clamp.1", "Slopes where there are slopes, conventions at the kinks.")
def check_five_gradients(answer):
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


@check_of(
    "round_and_clamp.2", "Same values, different gradients: the spelling chooses the gradient."
)
def check_point_of_difference(answer):
    x = as_number(answer)
    one = gradient_at(lambda x: F.hardtanh(x, 0.0, 1.0), x)
    other = gradient_at(lambda x: torch.minimum(torch.relu(x), torch.ones_like(x)), x)
    if one == other:
        place = "inside the range" if 0 < x < 1 else "outside the range"
        place = "at the lower bound" if x == 0 else place
        raise Wrong(f"at x = {x:g}, {place}, both gradients are {one:g}: they do not differ.")
