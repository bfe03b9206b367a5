"""Checks on surrogate gradients: which inputs they reach, and your own shape."""

import math

import torch

from lessons.asking.answers import as_number, call_answer, expect_close, expect_tensor
from lessons.asking.registry import Wrong, check_of
from lessons.surrogate_gradients.drawings import StairsPicture
from lessons.surrogate_gradients.stairs import EDGES, RISES, STEPS, Outcome, gradient_descent

STARTS = (1.5, 2.5, 3.5, 4.5)
MOST_STEPS = 5


@check_of(
    "surrogate_gradients.1",
    "The triangle ends at the nearest edge.",
    inputs=[(4.5,), (2.625,), (-1.875,)],
)
def check_starving_width(answer, start):
    away = (start - EDGES).abs()
    below = away[start >= EDGES].min() if start >= EDGES[0] else away.min()
    yours = as_number(call_answer(answer, start), f"start {start}: ")
    mistakes = {
        "That is the edge furthest away; the triangle reaches a nearer one first.": away.max(),
        "You left out the wall at -2.": away[1:].min(),
        "Twice as far: a width is the distance to one side, not to both.": 2 * away.min(),
        "That is the nearest edge below. The one above is nearer, and counts, too.": below,
    }
    yours = torch.tensor(yours, dtype=away.dtype)
    expect_close(f"start {start}", yours, away.min(), mistakes)


def _slopes(answer, u):
    cures = {"is ambiguous": "u is a tensor: use torch.where, or (u > 0) & (u < 1)"}
    slopes = call_answer(answer, u.clone(), cures=cures)
    expect_tensor("my_slope(u)", slopes, u.shape, "Return one number for each u.")
    return slopes.detach().to(u.dtype)


def _way(answer, start):
    def loss(x):  # x times the pull of all edges: its gradient is the pull
        return x * (RISES * _slopes(answer, x.detach() - EDGES)).sum()

    return gradient_descent(loss, start, steps=300)


def _draw_ball(answer):
    """The ball from the first start from which it does not come to rest at the bottom, or 4.5."""
    ways = [_way(answer, start) for start in STARTS]
    way = next((way for way in ways if Outcome.of(way).kind != "bottom"), ways[-1])
    figure = StairsPicture()
    figure.show(way[: STEPS + 1])
    figure.suptitle(f"Your ball from {way[0]:g}")
    figure.summary = f"Your ball from {way[0]:g} {Outcome.of(way)}."
    return figure


@check_of(
    "surrogate_gradients.2",
    "It reaches the bottom from every stair, and rests there.",
    draw_wrong=_draw_ball,
    draw_right=_draw_ball,
)
def check_slope(answer):
    u = torch.arange(-1600, 1601, dtype=torch.float64) / 200  # 0 is one of them
    for each in (u, u[1:].reshape(-1, 2).float()):
        slopes = _slopes(answer, each)
        for wrong, why in (
            (slopes > 1 + 1e-6, "is larger than 1. That only means a larger learning rate."),
            (slopes < 0, "is negative: it points up where the stairs go down."),
        ):
            if wrong.any():
                place = each[wrong][0].item()
                raise Wrong(f"u = {place:g}: yours {slopes[wrong][0]:.7g} {why}")
    for start in STARTS:
        way = _way(answer, start)
        found = Outcome.of(way)
        if found.kind != "bottom":
            why = _why_no_rest(found, way)
            raise Wrong(f"start {start}: yours {found}, expected to rest there.", why)
        if start == 4.5 and found.first > MOST_STEPS:
            raise Wrong(
                f"start {start}: yours needs {found.first} steps, expected at most {MOST_STEPS}. "
                "The ball is slow where your slope is small: in the middle of a stair it should "
                "be near 1."
            )


def _why_no_rest(found, way):
    if found.kind == "stays":
        return "In the middle of a stair the next edge is at u = 0.5: be larger than 0 there."
    if found.kind == "elsewhere":
        return "There the pull of the stairs and that of the wall, 6 times as strong, cancel."
    last = ", ".join(f"{x:.2f}" for x in way[-3:].tolist())
    return (
        f"Its last places are {last}. At the bottom the pull of the wall, 6 times that of a stair, "
        "and that of the stairs have to be small, or to cancel."
    )


@check_of("surrogate_gradients.3", "The other half get the gradient 0.")
def check_half_width(answer):
    yours = as_number(answer, "half_width: ")
    if abs(yours - 0.67) < 1e-6 or abs(yours - 0.67449) <= 5e-4:  # two decimals, or more
        return
    reached = math.erf(abs(yours) / 2**0.5)
    why = f"With that width {reached:.0%} of the inputs get one."
    if abs(yours - 1.349) <= 0.01:
        why = "That is the whole interval; the width is the distance to one side."
    elif yours == 0.5:
        why = "Half of the inputs is not half of a unit: the density is higher in the middle."
    raise Wrong(f"half_width: yours {yours:g}, expected 0.67.", why)
