"""Several functions side by side: what each slider reaches, and where they differ."""

import pytest
import torch
import torch.nn.functional as F
from unseen_pictures import unseen_pictures  # noqa: F401

from helpers.curves.agreement import describe_differences, measure_together
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from helpers.explore.explorer import explore
from helpers.functions import clamp_ste, round_ste


def maximum(x, low=0.0):
    return torch.maximum(x, torch.full_like(x, low))


def clamp_by_minimum(x):
    return torch.minimum(maximum(x), torch.ones_like(x))


def clamp_by_relu(x):
    return torch.relu(x) - torch.relu(x - 1)


DIFFERENCES = [
    ([torch.relu, maximum], "same values, gradients differ at 0 (0, 0.5)"),
    ([torch.relu, lambda x: (x + x.abs()) / 2], "same values, gradients differ at 0 (0, 0.5)"),
    ([torch.relu, F.relu], "same values and gradients"),
    ([torch.log, lambda x: torch.log(x)], "same values and gradients"),  # NaN is NaN
    ([lambda x: x * 1, lambda x: x + 99 - 99], "same values and gradients"),  # but for rounding
    ([torch.round, round_ste], "same values, gradients differ from -2 to 2"),
    ([torch.frac, lambda x: x.fmod(1)], "same values and gradients"),
    ([torch.abs, lambda x: torch.sqrt(x * x)], "same values, gradients differ at 0 (0, nan)"),
    (
        [lambda x: F.hardtanh(x, 0, 1), clamp_by_minimum, clamp_by_relu],
        "same values, gradients differ at 0 (0, 0.5, 0) and at 1 (0, 0.5, 1)",
    ),
    (  # -0.71 and 0.71 are no points of the grid, and the second has no kink there
        [lambda x: F.hardtanh(x, -0.71, 0.71), lambda x: clamp_ste(x, -0.71, 0.71)],
        "same values, gradients differ from -2 to -0.71 and from 0.71 to 2",
    ),
    (
        [torch.sin, lambda x: torch.sin(x) + (x > 1.25)],
        "values differ from 1.25 to 2, same gradients",
    ),
    (
        [lambda x: x * 1, lambda x: 2 * x],
        "values differ from -2 to 0 and from 0 to 2, gradients differ from -2 to 2",
    ),
    (
        [torch.sin, lambda x: torch.sin(x) + ((x.abs() < 0.25) | ((x.abs() - 1.5).abs() < 0.25))],
        "values differ from -1.75 to -1.25 and from -0.25 to 0.25 and from 1.25 to 1.75, "
        "same gradients",
    ),
    (
        [torch.sin, lambda x: torch.sin(x) + (torch.frac(x).abs() > 0.5)],
        "values differ in 4 places, same gradients",
    ),
]


@pytest.mark.parametrize("functions, said", DIFFERENCES)
def test_where_functions_differ(functions, said):
    curves = measure_together([(function, {}) for function in functions], (-2, 2))
    assert describe_differences(curves) == said


def test_each_function_is_looked_at_where_another_jumps():
    smooth, stairs = measure_together([(torch.sin, {}), (torch.round, {})], (-2.03, 2))
    for jump in (-1.5, -0.5, 0.5, 1.5):
        assert jump in smooth.x and jump in stairs.x


def test_the_sentence_names_each_function_and_where_they_differ():
    explorer = explore({"relu": torch.relu, "maximum": maximum}, x=(-2, 2), low=(-1.0, 1.0, 0.5))
    curves = explorer.drawing.curves
    assert explorer.summary == (
        f"relu and maximum, low=0: relu: {curves['relu'].describe()}. "
        f"maximum: {curves['maximum'].describe()}. Same values, gradients differ at 0 (0, 0.5)"
    )
    explorer.set(low=1.0)
    assert explorer.summary.endswith("Values differ from -2 to 1, gradients differ from 0 to 1")


def scaled(x, size=2.0, low=-1.0):
    return size * x + low


def test_a_slider_reaches_each_function_with_this_parameter():
    drawing = SideBySideDrawing({"scaled": scaled, "maximum": maximum, "relu": torch.relu}, (-1, 1))
    drawing.show(low=0.5, size=3.0, grad_output=2.0)
    low, high = ({name: curve.y[k] for name, curve in drawing.curves.items()} for k in (0, -1))
    assert low == {"scaled": -2.5, "maximum": 0.5, "relu": 0.0}
    assert high == {"scaled": 3.5, "maximum": 1.0, "relu": 1.0}
    assert {name: curve.grad[-1] for name, curve in drawing.curves.items()} == {
        "scaled": 6.0, "maximum": 2.0, "relu": 2.0
    }  # fmt: skip


def test_four_functions_fit():
    drawing = SideBySideDrawing(dict.fromkeys("abcd", torch.relu), (-2, 2))
    assert drawing.show().endswith("Same values and gradients")


def test_a_control_starts_at_the_first_default():
    explorer = explore({"maximum": maximum, "scaled": scaled}, low=(-1.0, 1.0), size=(1.0, 3.0))
    assert explorer.values == {"low": 0.0, "size": 2.0}


@pytest.mark.slow
def test_the_columns_have_the_same_scales_and_hold_every_curve():
    functions = {"relu": torch.relu, "scaled": scaled}
    explorer = explore(functions, x=(-1, 1), size=(1.0, 9.0, 1.0))
    values, gradients = explorer.figure.axes[:2], explorer.figure.axes[2:]
    limits = [[ax.axis() for ax in row] for row in (values, gradients)]
    for first, second in limits:
        assert first == second
    assert limits[0][0][3] > 8 and limits[1][0][3] > 9
    explorer.set(size=9.0)
    assert [[ax.axis() for ax in row] for row in (values, gradients)] == limits


@pytest.mark.parametrize(
    "functions, sliders, error, message",
    [
        ({}, {}, ValueError, "needs two to four functions to compare, got 0"),
        ({"relu": torch.relu}, {}, ValueError, "two to four functions to compare, got 1"),
        (dict.fromkeys("abcde", torch.relu), {}, ValueError, "to compare, got 5"),
        ({1: torch.relu, "b": torch.relu}, {}, TypeError, "need names, such as 'relu', got 1"),
        ({"a": 3, "b": torch.relu}, {}, TypeError, "'a' needs to be a function of a tensor, got"),
        ({"mean": lambda x: x.mean(), "b": torch.relu}, {}, ValueError, "mean needs to be elem"),
        (
            {"a": maximum, "b": scaled},
            {"foo": (0, 1)},
            TypeError,
            "'foo' is not a parameter of a and b: choose from low, size, grad_output",
        ),
        (
            {"a": torch.relu, "b": maximum, "c": torch.nn.ReLU()},
            {"foo": (0, 1)},
            TypeError,
            "'foo' is not a parameter of a, b and c",
        ),
        ({"a": scaled, "b": maximum}, {"kinks": (0, 1)}, TypeError, "a setting of the picture"),
    ],
)
def test_what_cannot_be_compared(functions, sliders, error, message):
    with pytest.raises(error, match=message):
        explore(functions, **sliders)
