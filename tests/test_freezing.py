"""What a page without a kernel gets."""

import base64
import json
import zlib

import numpy as np
import pytest
import torch

from autograd_surprises.show.live_picture import LivePicture
from helpers.curves import plot_gradient_curve
from helpers.explore import explore, freeze, freezing
from helpers.explore.drawings import curve
from helpers.explore.freezing import freeze_picture
from helpers.functions import round_ste


def unpacked(text):
    return zlib.decompress(base64.b64decode(text))


def strokes(frozen):
    """The strokes of each setting, as the page puts them together."""
    numbers = np.frombuffer(unpacked(frozen["moving"]), "<i2").copy()
    for start in (0, 1):
        numbers[start::2] = np.cumsum(numbers[start::2], dtype="<i2")
    return np.split(numbers, np.frombuffer(unpacked(frozen["ends"]), "<i4"))[:-1]


def scaled(x, size=1.0, lie=False, kind="up"):
    if size > 1.5:
        raise ValueError("too large")
    return (round_ste(x) if lie else x) * (size if kind == "up" else -size)


@pytest.fixture
def explorer():
    return explore(scaled, size=(0.5, 2.0, 0.5), lie=False, kind=["up", "down"])


@pytest.mark.slow
def test_each_setting_has_the_strokes_and_the_text_of_the_explorer(explorer):
    before = explorer.values, explorer.summary
    frozen = freeze(explorer)
    assert (explorer.values, explorer.summary) == before
    texts = json.loads(unpacked(frozen["texts"]))
    frames = json.loads(unpacked(frozen["frames"]))
    settings = [(size, lie, kind) for size in (0.5, 1.0, 1.5, 2.0) for lie in (False, True)
                for kind in ("up", "down")]  # fmt: skip
    assert len(texts) == len(settings) == len(strokes(frozen))
    for (size, lie, kind), (frame, text), moving in zip(
        settings, texts, strokes(frozen), strict=True
    ):
        if size == 2.0:
            assert (frame, len(moving)) == (-1, 0)
            with pytest.raises(ValueError, match="too large"):
                explorer.set(size=size, lie=lie, kind=kind)
            assert f">{text.replace(chr(10), '<br>')}</div>" in explorer.message.value
            continue
        explorer.set(size=size, lie=lie, kind=kind)
        assert text == explorer.summary == explorer.picture.summary
        assert moving.tobytes() == explorer.picture.moving
        assert base64.b64decode(frames[frame]["frame"]) == explorer.picture.frame


@pytest.mark.slow
def test_controls_start_where_the_explorer_is(explorer):
    explorer.set(size=1.5, kind="down")
    size, lie, kind = freeze(explorer)["controls"]
    assert (size["kind"], size["values"][size["start"]]) == ("slider", "1.50")
    assert size["numbers"] == [0.5, 1.0, 1.5, 2.0]
    assert (lie["kind"], lie["values"][lie["start"]]) == ("tick", "False")
    assert (kind["kind"], kind["values"][kind["start"]]) == ("choice", "down")


@pytest.mark.slow
def test_no_two_stops_of_a_slider_read_alike():
    explorer = explore(lambda x, k=0.304: k * x, k=(0.0, 1.0, 0.1))
    (k,) = freeze(explorer)["controls"]
    assert len(set(k["values"])) == 12 and k["values"][k["start"]] == "0.304"
    explorer.set(k=0.3041)
    (k,) = freeze(explorer)["controls"]
    assert len(set(k["values"])) == len(k["values"]) == 12
    explorer.set(k=0.30004)
    (k,) = freeze(explorer)["controls"]
    assert (len(k["values"]), k["numbers"][k["start"]]) == (11, 0.30004)


def test_a_menu_keeps_its_labels():
    explorer = explore(lambda x, k=0.5: k * x, k=[("half", 0.5), ("double", 2.0)])
    (k,) = freeze(explorer)["controls"]
    assert (k["values"], k["start"]) == (["half", "double"], 0)


@pytest.mark.slow
def test_many_settings_are_thinned_to_what_fits(monkeypatch):
    explorer = explore(lambda x, a=0.0, b=0.0: torch.sin(x * a) + b, a=(0.0, 9.0), b=(0.0, 9.0))
    explorer.set(a=0.7)
    monkeypatch.setattr(freezing, "SETTINGS", 60)
    monkeypatch.setattr(freezing, "LARGEST", 24_000)
    frozen = freeze(explorer)
    assert len(json.dumps(frozen)) <= 24_000
    for control, now in zip(frozen["controls"], (0.7, 0.0), strict=True):
        numbers = control["numbers"]
        assert (numbers[0], numbers[-1]) == (0.0, 9.0) and 3 <= len(numbers) < 20
        assert numbers[control["start"]] == now


@pytest.mark.slow
def test_a_fine_slider_is_thinned_at_once_and_too_many_choices_are_refused(monkeypatch):
    choices = explore(lambda x, a=0, b=0: a * x + b, a=list(range(50)), b=list(range(50)))
    with pytest.raises(ValueError, match="too many choices to freeze: 2500 settings"):
        freeze(choices)
    monkeypatch.setattr(freezing, "SETTINGS", 40)
    fine = freeze(explore(lambda x, a=0.5: a * x, a=(0.0, 2.0, 0.0001)))
    assert 10 < len(fine["controls"][0]["values"]) <= 41  # and the one that is shown


@pytest.mark.slow
def test_controls_may_stand_where_the_function_raises(explorer):
    explorer.set(size=0.7)
    with pytest.raises(ValueError, match="too large"):
        explorer.set(size=2.0)
    shown = explorer.summary
    frozen = freeze(explorer)
    # the page starts with a picture
    assert frozen["controls"][0]["values"][frozen["controls"][0]["start"]] == "0.70"
    assert explorer.summary == shown, "the last values that worked"


@pytest.mark.slow
def test_a_curve_with_a_point_is_measured_once_for_all_its_points(monkeypatch):
    measured, original = [], curve.gradient_curve
    monkeypatch.setattr(
        curve, "gradient_curve", lambda *args, **kw: measured.append(kw) or original(*args, **kw)
    )
    monkeypatch.setattr(freezing, "SETTINGS", 60)
    explorer = explore(lambda x, k=1.0: k * x, point=0.5, k=[1.0, 2.0, 3.0])
    measured.clear()
    frozen = freeze(explorer)
    assert [len(control["values"]) for control in frozen["controls"]] == [5, 5, 3]
    # 1.0 is known; and then again the one that was shown
    assert [kw["k"] for kw in measured] == [2.0, 3.0, 1.0]
    texts = json.loads(unpacked(frozen["texts"]))
    assert ["k=3" in text for _, text in texts[:6]] == [False, False, True] * 2
    assert all("at x = -3:" in text for _, text in texts[:15])


def test_a_picture_without_controls_is_frozen_as_it_is_seen():
    figure = plot_gradient_curve(torch.relu)
    frozen = freeze_picture(figure)
    live = LivePicture(plot_gradient_curve(torch.relu))
    live.refresh()
    (frame,) = json.loads(unpacked(frozen["frames"]))
    assert base64.b64decode(frame["frame"]) == live.frame
    assert json.loads(unpacked(frozen["texts"])) == [[0, figure.summary]]
    assert frozen["controls"] == [] and frozen["styles"] == live.styles


@pytest.mark.slow
def test_a_picture_that_moves_is_frozen_where_it_is():
    explorer = explore(scaled, size=(0.5, 2.0, 0.5))
    explorer.set(size=0.5)
    frozen = freeze_picture(explorer.figure)
    (moving,) = strokes(frozen)
    explorer.picture.refresh()
    assert moving.tobytes() == explorer.picture.moving
