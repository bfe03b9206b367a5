"""A slider that can be played, without a browser."""

import ipywidgets
import pytest
import traitlets
from unseen_pictures import unseen_pictures  # noqa: F401

from helpers.explore.controls import control
from helpers.explore.explorer import explore
from helpers.explore.player import BY_MOTION, Playable, PlayableSlider, Player


def walk(x, steps=3, width=1.0):
    return x * steps * width


@pytest.fixture
def explorer():
    return explore(walk, steps=Playable(1, 6, 2), width=(0.5, 1.0))


@pytest.fixture
def player(explorer):
    (player,) = (each for each in explorer.children[-2].children if isinstance(each, Player))
    return player


def test_only_what_can_be_played_has_buttons(explorer, player):
    assert explorer.children[-2].children == (player, explorer.sliders["width"])
    assert player.children[0] is explorer.sliders["steps"]


def test_it_is_a_slider_as_any_other(explorer, player):
    assert explorer.values == {"steps": 3, "width": 1.0}
    explorer.set(steps=5)
    assert player.slider.value == 5 and "steps=5" in explorer.summary
    with pytest.raises(ValueError, match="steps needs to be from 1 to 6, got 7"):
        explorer.set(steps=7)


def test_without_a_default_it_starts_at_the_end():
    assert control("steps", Playable(0, 40), 7).value == 7
    assert control("steps", Playable(0, 40)).value == 40


def test_the_clock_moves_the_slider_in_the_browser(monkeypatch):
    links = []
    monkeypatch.setattr(ipywidgets, "jslink", lambda *ends: links.append(ends))
    slider = PlayableSlider(value=3, min=1, max=6, step=2)
    clock = Player(slider).clock
    assert links == [((slider, "value"), (clock, "value"))]
    assert (clock.value, clock.min, clock.max, clock.step) == (3, 1, 6, 2)


def test_it_plays_only_when_pressed_and_pauses(player):
    button, clock = player.play_button, player.clock
    assert not clock.playing and not clock.repeat
    assert (button.description, button.icon) == ("Play steps", "play")
    button.click()
    assert clock.playing
    assert (button.description, button.icon) == ("Pause steps", "pause")
    button.click()
    assert not clock.playing
    button.click()
    clock.playing = False  # it got to the end
    assert button.description == "Play steps"


def test_each_button_has_a_name_and_the_nameless_ones_are_hidden(player):
    shown = [child for child in player.children if child.layout.display != "none"]
    assert shown == [player.slider, player.play_button, player.step_button]
    assert player.step_button.description == "Advance steps"


@pytest.mark.parametrize("last, steps", [(6, [5, 1, 3]), (7, [5, 7, 1])])
def test_a_press_is_one_step_where_motion_is_reduced(explorer, player, last, steps):
    player.slider.max = last
    (play,), (step,) = player.play_button._dom_classes, player.step_button._dom_classes
    assert f"(prefers-reduced-motion: reduce) {{ .{play} {{ display: none" in BY_MOTION
    assert f"(prefers-reduced-motion: no-preference) {{ .{step} {{ display: none" in BY_MOTION
    seen = []
    for _ in range(3):
        player.step_button.click()
        seen.append(explorer.values["steps"])
        assert f"steps={seen[-1]}" in explorer.summary
    assert seen == steps  # 7 may be beyond the end
    assert not player.clock.playing


class ClockOf7(ipywidgets.IntSlider):
    """The Play of ipywidgets 7: only its own buttons start and stop it."""

    interval, show_repeat, _playing = traitlets.Int(), traitlets.Bool(), traitlets.Bool()


def test_where_only_the_clock_starts_itself_its_own_buttons_are_shown(monkeypatch):
    monkeypatch.setattr(ipywidgets, "Play", ClockOf7)
    monkeypatch.setattr(ipywidgets, "jslink", lambda *ends: None)
    player = Player(PlayableSlider(max=3, value=3, description="steps"))
    shown = [child for child in player.children if child.layout.display != "none"]
    assert shown == [player.slider, player.step_button, player.clock]
    assert player.clock._dom_classes == ("surprises-play",), "hidden where motion is reduced"
    player.step_button.click()
    assert player.slider.value == 0


@pytest.mark.parametrize(
    "range_, error, message",
    [
        (Playable(0, 4, 0.5), TypeError, "cannot be played: it needs whole numbers"),
        (Playable(3, 3), ValueError, "needs finite numbers, min < max"),
        (Playable(0, 2), ValueError, "steps needs to be from 0 to 2, got 3"),
        (Playable("a", 3), TypeError, "steps needs .* for a slider"),
    ],
)
def test_what_cannot_be_played(range_, error, message):
    with pytest.raises(error, match=message):
        explore(walk, steps=range_)
