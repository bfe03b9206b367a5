"""Play and Step buttons beside a slider."""

from typing import NamedTuple

import ipywidgets

INTERVAL = 250  # milliseconds from one step to the next: slow enough to look at each
# The page knows whether its reader asked for less motion, the kernel does not. So both buttons are
# there, and the page hides one.
BY_MOTION = """<style>
@media (prefers-reduced-motion: reduce) { .surprises-play { display: none !important } }
@media (prefers-reduced-motion: no-preference) { .surprises-step { display: none !important } }
</style>"""


class Playable(NamedTuple):
    """A range of whole numbers for a slider that has a Play button: `steps=Playable(0, 40)`.

    Without a default, the slider starts at max. `interval` is the time for one step, in ms.

    >>> Playable(0, 40)
    Playable(min=0, max=40, step=1, interval=250)
    """

    min: int
    max: int
    step: int = 1
    interval: int = INTERVAL


class PlayableSlider(ipywidgets.IntSlider):
    """The slider that `control` makes for a Playable, with the same interval.

    >>> PlayableSlider(max=3).value
    0
    """

    interval = INTERVAL


class Player(ipywidgets.HBox):
    """A slider with a button that runs it from its value to its end, and pauses it.

    It starts only when pressed; at the end it starts again from min. For readers who asked their
    system to reduce motion, the button moves the slider by one step instead.

    >>> slider = PlayableSlider(max=3); player = Player(slider)
    >>> player.step_button.click(); slider.value
    1
    """

    def __init__(self, slider: PlayableSlider):
        self.slider = slider
        numbers = {name: getattr(slider, name) for name in ("min", "max", "step", "value")}
        self.clock = ipywidgets.Play(**numbers, interval=slider.interval, show_repeat=False)
        ipywidgets.jslink((slider, "value"), (self.clock, "value"))
        self.step_button = _button("surprises-step")
        self.step_button.description = f"Advance {slider.description}"
        self.step_button.icon = "step-forward"
        self.step_button.on_click(self._on_step)
        by_motion = ipywidgets.HTML(BY_MOTION, layout={"display": "none"})
        # The clock's own buttons are icons without a name for a screen reader. But in ipywidgets 7,
        # which Colab has, only they can start the clock.
        if self.clock.has_trait("playing"):
            starts = [self._make_play_button()]
            self.clock.layout.display = "none"
        else:
            starts = []
            self.clock.add_class("surprises-play")
        super().__init__([slider, *starts, self.step_button, self.clock, by_motion])
        self.layout.flex_flow, self.layout.grid_area = "row wrap", "auto / 1 / auto / -1"

    def _make_play_button(self):
        self.play_button = _button("surprises-play")
        longest = len(f"Pause {self.slider.description}")  # or the button would jump to another row
        self.play_button.layout.width = f"calc({longest}ch + 36px)"
        self.play_button.on_click(self._on_play)
        self.clock.observe(self._name_button, "playing")
        self._name_button()
        return self.play_button

    def _on_play(self, button):
        self.clock.playing = not self.clock.playing

    def _on_step(self, button):
        at_end = self.slider.value + self.slider.step > self.slider.max
        self.slider.value = self.slider.min if at_end else self.slider.value + self.slider.step

    def _name_button(self, change=None):
        does, self.play_button.icon = ("Pause", "pause") if self.clock.playing else ("Play", "play")
        self.play_button.description = f"{does} {self.slider.description}"


def _button(css_class):
    button = ipywidgets.Button(layout={"width": "auto"})
    button.add_class(css_class)
    return button


def row_of(control: ipywidgets.Widget) -> ipywidgets.Widget:
    """The control as an explorer shows it: with buttons if it can be played.

    >>> row_of(PlayableSlider(max=3)).play_button.description
    'Play '
    """
    return Player(control) if isinstance(control, PlayableSlider) else control
