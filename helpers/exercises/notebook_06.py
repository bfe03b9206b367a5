"""Exercises on surrogate gradients: whom they reach, and a shape of your own."""

import torch

from helpers.exercises.exercise import Exercise, NotDone, Wrong, call
from helpers.stairs import EDGES, RISES, descend, verdict

STARTS = (1.5, 2.5, 3.5, 4.5)
MOST_STEPS = 5


def _number(where, yours):
    if isinstance(yours, torch.Tensor) and yours.numel() == 1:
        yours = yours.item()
    if isinstance(yours, bool) or not isinstance(yours, int | float):
        raise Wrong(f"{where}: yours is {type(yours).__name__}, expected a number.")
    return yours


def _check_starving_width(answer):
    for start in (4.5, 2.625, -1.875, 5.75, 0.75, -3.5):
        expected = (start - EDGES).abs().min().item()
        yours = _number(f"start {start}", call(answer, start))
        below = start - EDGES[start >= EDGES]
        if abs(yours - expected) <= 1e-6:
            continue
        why = "The width has to reach the nearest edge; there the triangle is 0 already."
        if yours == 0.5:
            why = "That is for the middle of a stair only."
        elif len(below) and abs(yours - below.min().item()) <= 1e-6:
            why = "That is the nearest edge below. The one above can be nearer, and is felt, too."
        elif abs(yours - 2 * expected) <= 1e-6:
            why = "Twice as far: a width is the distance to one side, not to both."
        elif yours < 0:
            why = "A width is a distance, and so not negative."
        raise Wrong(f"start {start}: yours {yours:g}, expected {expected:g}. {why}")


def _check_slope(answer):
    u = torch.arange(-1600, 1601, dtype=torch.float64) / 200  # 0 is one of them
    slopes = _slopes(answer, u)
    for wrong, story in (
        (slopes > 1, "is larger than 1. A larger slope is a larger learning rate in disguise."),
        (slopes < 0, "is negative: it points up where the stairs go down."),
    ):
        if wrong.any():
            place = u[wrong][0].item()
            raise Wrong(f"u = {place:g}: yours {slopes[wrong][0]:g} {story}")
    for start in STARTS:
        way = descend(lambda x: _Stairs.apply(x, answer), start)
        said = verdict(way)
        if not said.startswith("reaches"):
            raise Wrong(
                f"start {start}: yours {said}, expected to rest at the bottom. {_why(said)}"
            )
    steps = int(said.removeprefix("reaches the bottom in ").split()[0])
    if steps > MOST_STEPS:
        raise Wrong(
            f"start {start}: yours needs {steps} steps, expected at most {MOST_STEPS}. The ball is "
            "slow where your slope is small: in the middle of a stair it should be near 1."
        )


def _slopes(answer, u):
    slopes = call(answer, u)
    if not isinstance(slopes, torch.Tensor) or slopes.shape != u.shape:
        got = tuple(slopes.shape) if isinstance(slopes, torch.Tensor) else type(slopes).__name__
        raise Wrong(f"u of shape {tuple(u.shape)}: yours {got}, expected one slope for each u.")
    if not slopes.isfinite().all():
        raise Wrong(f"yours is {slopes[~slopes.isfinite()][0]:g} somewhere, expected 0 to 1.")
    return slopes.to(u.dtype)


class _Stairs(torch.autograd.Function):
    @staticmethod
    def forward(x, slope):
        return x.clone()  # what descends by the gradient does not look at the height

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.slope = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (RISES * _slopes(ctx.slope, x - EDGES)).sum(), None


def _why(said):
    if said.startswith("stays"):
        return "In the middle of a stair the next edge is at u = 0.5, and has to be felt there."
    if said.startswith("rests"):
        return "Your slope reaches so far that the wall holds the ball."
    return (
        "At the bottom it should feel nothing: neither the wall, at u up to 2, nor the stairs, at "
        "u down to -2."
    )


def _check_half_width(answer):
    if answer is ...:
        raise NotDone
    yours = _number("half_width", answer)
    if abs(yours - 0.6745) <= 0.005:
        return
    why = "Half of the inputs are nearer to 0 than it."
    if abs(yours - 1.349) <= 0.01:
        why = "That is the whole interval; the width is the distance to one side."
    elif yours == 0.5:
        why = "Half of the inputs is not half of a unit: the bell is higher in the middle."
    elif yours == 1:
        why = "That is a standard deviation, which reaches 68 % of them."
    raise Wrong(f"half_width: yours {yours:g}, expected 0.67 (to two digits). {why}")


EXERCISES = (
    Exercise(
        "06.1",
        "Where the gradient starves",
        4,
        "On the stairs above, with a triangle as the surrogate: write `starving_width(start)`, the "
        "largest width at which a ball that starts there stays where it is. The edges are at -2, "
        "0, 1, 2, 3 and 4.",
        (
            "The triangle `max(0, 1 - |u|/w)` is 0 where |u| ≥ w, and u is `start - edge`.",
            "The ball moves as soon as one edge is felt. Which one is felt first?",
            "The one with the smallest `|start - edge|`.",
        ),
        _check_starving_width,
        "As wide as the nearest edge is far, and not a bit more.",
    ),
    Exercise(
        "06.2",
        "A shape of your own",
        8,
        "Write `my_slope(u)`, a surrogate for the same stairs. It gets a tensor of `x - edge`, and "
        "returns a slope from 0 to 1 for each. The ball starts at 1.5, 2.5, 3.5 and 4.5, and has "
        "to reach the bottom and rest there each time; from 4.5 in at most 5 steps. (A triangle of "
        "width 1 needs 6.) It need not be the same on both sides of an edge.",
        (
            "On a stair, u is positive for the edge that the ball should fall over.",
            "At the bottom, between -2 and 0, the wall is at u from 0 to 2, and the stairs are at "
            "u from -4 to 0. Where should the slope be 0, so that there is a place to rest?",
            "A slope of 1 on a whole stair makes one step as long as a stair.",
        ),
        _check_slope,
        "Felt on the whole stair, and not at rest.",
    ),
    Exercise(
        "06.3",
        "Half of them",
        3,
        "A step gets normally distributed inputs (mean 0, standard deviation 1), and a triangle as "
        "its surrogate. With which width does exactly half of the inputs get a gradient? To two "
        "digits.",
        (
            "The inputs between -w and w get one. So a quarter of all has to be above w.",
            "`Normal(0.0, 1.0).icdf(p)` is the number below which a share p of them lies.",
        ),
        _check_half_width,
        "The other half would not learn at this step.",
    ),
)
