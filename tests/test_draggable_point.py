"""A point on a curve: dragged, moved by steps of gradient descent, and its two tangents."""

import pytest
import torch
from unseen_pictures import unseen_pictures  # noqa: F401

from helpers.curves import gradient_curve
from helpers.explore import explore
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.functions import round_ste
from lessons.backward_needs_a_gradient.drawings import FieldDrawing


def tangents(explorer):
    """The slopes of the solid and of the dashed tangent, as drawn."""
    *_, gradient, slope, _, _ = explorer.drawing.moving
    lines = [line.get_xydata() for line in (gradient, slope)]
    return [((end - start)[1] / (end - start)[0]).item() for start, end in lines]


def test_of_round_ste_the_tangent_lies_and_the_point_walks():
    explorer = explore(round_ste, point=0.3)
    assert tangents(explorer) == pytest.approx([1, 0])
    explorer.set(lr=0.25)
    explorer.step_button.click()
    assert explorer.values["point"] == pytest.approx(0.05)
    *_, below, dot = explorer.drawing.moving
    assert dot.get_xydata().tolist() == [[pytest.approx(0.05), 0]]
    assert below.get_xydata().tolist() == [[pytest.approx(0.05), 1]]
    assert "at x = 0.05: value 0, gradient 1, slope 0" in explorer.summary


def test_upstream_gradient_and_parameters_count():
    def scaled(x, k=2.0):
        return k * x**2

    explorer = explore(scaled, point=1.0, k=(1.0, 3.0, 1.0), grad_output=(-1.0, 1.0, 1.0))
    explorer.set(k=3.0, grad_output=-1.0)
    assert tangents(explorer) == pytest.approx([-6, -6], abs=1e-4)
    assert explorer.drawing.step(**explorer.values)["point"] == pytest.approx(1.6)


@pytest.mark.parametrize("point, end", [(1.5, 2.0), (-0.5, -1.0), (2.0, 2.0), (-1.0, -1.0)])
def test_a_step_ends_at_the_end_of_the_interval(point, end):
    explorer = explore(lambda x: -(x**2), x=(-1, 2), point=point)
    explorer.set(lr=1.0)
    explorer.step_button.click()
    assert explorer.values["point"] == end
    *_, tangent, _, _, _ = explorer.drawing.moving
    assert tangent.get_xdata() == pytest.approx([end - 0.36, end + 0.36]), "12 % of the interval"


@pytest.mark.parametrize("fn, point", [(torch.relu, 0.0), (torch.round, 0.5)])
def test_there_is_no_true_tangent_at_a_kink_or_a_jump(fn, point):
    explorer = explore(fn, point=point)
    assert tangents(explorer)[1] != tangents(explorer)[1]
    assert "no slope" in explorer.summary


def test_a_dragged_handle_moves_its_sliders_to_the_nearest_value():
    explorer = explore(round_ste, point=0.3)
    explorer.picture.dragged = {"point": 1.2349}
    assert explorer.values["point"] == pytest.approx(1.23)
    explorer.picture.dragged = {"point": -0.604}
    assert explorer.values["point"] == -0.6, "a page would send it back, after the next place"
    explorer.picture.dragged = {"point": 99.0}
    assert explorer.values["point"] == 3.0
    explorer.picture.dragged = {"point": -99.0}
    assert explorer.values["point"] == -3.0
    field = explore(FieldDrawing(torch.square), v1=(-1.0, 1.0, 0.1), v2=(-1.0, 1.0, 0.1))
    field.picture.dragged = {"v1": -0.52, "v2": 0.81}
    assert field.values == {"v1": pytest.approx(-0.5), "v2": pytest.approx(0.8)}
    assert field.drawing.moving[-1].get_xydata()[0].tolist() == pytest.approx([-0.5, 0.8])


@pytest.mark.parametrize(
    "fn, x, point, error, message",
    [
        (torch.sin, (-1.0, 1.0), 2.0, ValueError, "point needs to lie in x = "),
        (torch.sin, (3, -3), 0.3, ValueError, r"x needs low < high, both finite, got \(3, -3\)"),
        (torch.sin, 3, 0.3, TypeError, "x needs to be two numbers"),
        (lambda x, lr=1: x * lr, (-1.0, 1.0), 0.0, TypeError, "'lr' belongs to the point"),
    ],
)
def test_points_that_cannot_be(fn, x, point, error, message):
    with pytest.raises(error, match=message):
        PointDrawing(fn, x, point)


def at_least(threshold):
    return lambda x: (x >= threshold) * 1.0 + 0 * x


@pytest.mark.parametrize(
    "before, after",
    [(torch.sin, torch.cos), (torch.round, round_ste), (at_least(0.1231), at_least(0.1232))],
)
def test_what_fn_reads_may_change_between_two_moves(before, after):
    fn = before
    explorer = explore(lambda x: fn(x), point=0.5)
    fn = after
    explorer.set(point=1.0)
    expected = gradient_curve(after)
    for part in ("x", "y", "grad"):
        assert torch.equal(getattr(explorer.curve, part), getattr(expected, part))


def test_a_point_stands_on_the_jump_that_its_slider_says():
    drawing = PointDrawing(at_least(0.3), (-3.0, 3.0), 0.0)
    assert "at x = 0.3: value 1, gradient 0, no slope" in drawing.show(point=0.3 - 1e-15)
    assert "at x = 0: value 0," in drawing.show(point=-1e-16)


def test_a_smooth_minimum_has_a_slope():
    assert "gradient 0, slope 0" in PointDrawing(torch.square, (-3.0, 3.0), 0.0).show()


def fails_for_one_number(x, k=1.0):
    if len(x) == 1 and k > 1:
        raise ValueError("not for one number")
    return k * x


def test_a_gradient_that_is_nan_moves_nothing():
    explorer = explore(torch.sqrt, x=(-1, 1), point=-0.5)
    explorer.step_button.click()
    assert explorer.values["point"] == -0.5
    assert explorer.summary.endswith("value NaN, gradient NaN, no slope; no step")


def test_an_error_of_a_step_is_shown():
    explorer = explore(fails_for_one_number, point=0.5, k=(1.0, 2.0))
    explorer.sliders["k"].unobserve_all()
    explorer.sliders["k"].value = 2.0
    explorer.step_button.click()  # ipywidgets logs the error of a click
    assert "not for one number" in explorer.message.value


def test_only_sliders_are_offered_as_handles():
    assert explore(FieldDrawing(torch.square), v1=[1.0, 2.0]).picture.handles == []
