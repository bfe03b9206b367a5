"""The staircase, the ball on it, and the surrogate function of a gradient."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.curves.figures import surrogate_values
from helpers.curves.numbers import gradient_curve
from helpers.functions import SURROGATES
from lessons.surrogate_gradients.stairs import (
    BOTTOM,
    EDGES,
    Outcome,
    default_height,
    gradient_descent,
    height,
)

places = st.floats(-10, 10).map(lambda x: torch.tensor(x, dtype=torch.float64))


@given(x=places)
def test_heights_are_the_same_with_every_gradient(x):
    stairs = 6.0 if x < -2 else float((x >= EDGES[1:]).sum())
    assert default_height(x) == stairs
    assert all(height(x, surrogate, 0.7) == stairs for surrogate in SURROGATES)


@given(x=places)
def test_the_default_gradient_is_0(x):
    x.requires_grad_()
    assert torch.autograd.grad(default_height(x), x)[0] == 0


@settings(max_examples=20)
@given(x=places, width=st.floats(0.1, 5))
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_each_edge_has_the_slope_of_the_surrogate(surrogate, x, width):
    x.requires_grad_()
    slopes = SURROGATES[surrogate].gradient(torch.ones_like(EDGES), x.detach() - EDGES, width)
    (grad,) = torch.autograd.grad(height(x, surrogate, width), x)
    want = slopes[1:].sum() - 6 * slopes[0]
    torch.testing.assert_close(grad, want)


@pytest.mark.parametrize(
    "way, said",
    [
        ([4.5] * 12, "stays at 4.5"),
        ([4.5] + [-1.0] * 11, "reaches the bottom in 1 step, and rests at -1"),
        ([4.5, 2.0, BOTTOM[0]] + [-0.001] * 11, "reaches the bottom in 2 steps, and rests at 0"),
        ([4.5] + [BOTTOM[1]] * 11, "rests at 0, which is not the bottom"),
        ([4.5] + [-2.01] * 11, "rests at -2.01, which is not the bottom"),
        ([4.5] + [-1.0, -1.1] * 6, "has not come to rest after 12 steps"),
    ],
)
def test_what_is_said_of_a_way(way, said):
    assert str(Outcome.of(torch.tensor(way, dtype=torch.float64))) == said


def test_a_ball_takes_one_step_more_than_it_has_places():
    way = gradient_descent(lambda x: height(x, "triangle", 0.75), 4.5, steps=3)
    assert len(way) == 4 and way[0] == 4.5
    assert way[1] == 4.5 - (1 - 0.5 / 0.75)


@pytest.mark.parametrize("offset", [-3.0, 0.0, 0.25])
def test_a_smooth_function_is_its_own_surrogate(offset):
    curve = gradient_curve(lambda x: x.tanh() + offset, x=(-2, 3))
    torch.testing.assert_close(surrogate_values(curve), curve.y, rtol=0, atol=1e-3)


def test_an_upstream_gradient_does_not_steepen_the_surrogate():
    curve = gradient_curve(torch.tanh, grad_output=3.0)
    torch.testing.assert_close(surrogate_values(curve), curve.y, rtol=0, atol=1e-3)
