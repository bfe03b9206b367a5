"""Buttons above a picture that set its controls."""

import ipywidgets
import pytest
from unseen_pictures import unseen_pictures  # noqa: F401

from helpers.explore import explore


def scaled(x, low=-1.0, high=1.0, kind="up"):
    if high > 2.5:
        raise ValueError("too high")
    return x.clamp(low, high) * (1 if kind == "up" else -1)


@pytest.fixture
def explorer():
    return explore(
        scaled,
        low=(-2.0, 0.0, 0.5),
        high=(0.0, 3.0, 0.5),
        kind=["up", "down"],
        tries={
            "high": [2, 0.5, 3.0],
            ("low", "kind"): [(-2.0, "down"), (0.0, "up")],
            ("low", "high"): {"wide": (-2.0, 2.5), "narrow": (-1.0, 0.5)},
            "kind": {"upside down": "down"},
        },
    )


def buttons_of(explorer):
    """{what it says: the button} of each row, under the row's label."""
    rows = [row.children for row in explorer.children if isinstance(row, ipywidgets.HBox)]
    return {label.value: {each.description: each for each in made} for label, *made in rows}


def test_a_button_moves_its_controls_and_no_others(explorer):
    assert explorer.values == {"low": -1.0, "high": 1.0, "kind": "up"}, "trying moved them"
    rows = buttons_of(explorer)
    assert {label: list(row) for label, row in rows.items()} == {
        "try: high": ["2", "0.5", "3"],
        "try: low, kind": ["-2, down", "0, up"],
        "try:": ["wide", "narrow", "upside down"],
    }
    rows["try: high"]["2"].click()
    rows["try: low, kind"]["-2, down"].click()
    assert explorer.values == {"low": -2.0, "high": 2.0, "kind": "down"}
    assert explorer.summary.startswith("scaled, low=-2, high=2, kind=down: value -2 to 2")
    assert rows["try: low, kind"]["-2, down"].tooltip == "low = -2, kind = down"
    rows["try:"]["wide"].click()
    assert explorer.values == {"low": -2.0, "high": 2.5, "kind": "down"}


def test_a_button_whose_setting_raises_says_so(explorer):
    buttons_of(explorer)["try: high"]["3"].click()
    assert "too high" in explorer.message.value
    assert "high=1," in explorer.summary


@pytest.mark.parametrize(
    "tries, kind, said",
    [
        ([2.0], TypeError, "tries needs a dict"),
        ({"high": 2.0}, TypeError, "a list of values for 'high', or a dict .* got 2.0"),
        ({"height": [2.0]}, TypeError, "no control 'height' here, only low, high, kind"),
        ({"high": [3.5]}, ValueError, "high needs to be from 0.0 to 3.0, got 3.5"),
        ({"high": ["1"]}, ValueError, "high needs to be from 0.0 to 3.0, got '1'"),
        ({"high": [float("nan")]}, ValueError, "high needs to be from 0.0 to 3.0, got nan"),
        ({"high": [0.3]}, ValueError, "steps of 1, and never reaches 0.3: try 0, or"),
        ({"kind": ["sideways"]}, ValueError, "kind cannot be 'sideways'"),
        ({("low", "high"): [(-1.0,)]}, TypeError, "2 values at once for .* got \\(-1.0,\\)"),
        ({("low", "high"): [-1.0]}, TypeError, "2 values at once for .* got -1.0"),
    ],
)
def test_what_cannot_be_tried_is_refused_at_once(tries, kind, said):
    with pytest.raises(kind, match=said):
        explore(scaled, low=(-2.0, 0.0), high=(0.0, 3.0, 1.0), kind=["up", "down"], tries=tries)
