"""How an explorer starts: one evaluation, and a few more for the range of its axes, which grow.

Time is told by a fake clock, which stands still except where a drawing works.
"""

import math
import sys
import warnings

import pytest

from autograd_surprises.show.picture import Picture
from helpers.explore import explorer as explorer_module
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.explorer import explore


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(explorer_module, name, clock)
    return clock


def test_a_busy_machine_gives_the_same_axes(clock, monkeypatch):
    """What counts for the places is the time that this thread itself computes."""
    monkeypatch.setattr(explorer_module, "thread_time", lambda: 0.0)
    assert slide(Bar(clock, 5.0)).kept == {"height": (0, 16)}


class Bar(Drawing):
    """A line from 0 up to k; each evaluation takes some seconds of the clock."""

    name = "bar"

    def __init__(self, clock, seconds=0.001, during=lambda k: None):
        self.clock, self.seconds, self.during, self.shown = clock, seconds, during, []
        self.figure = Picture(4, 3)
        self.ax = self.figure.subplots()
        self.moving = self.ax.plot([0, 1], [0, 0])

    def show(self, k=1.0):
        self.shown.append(k)
        self.clock.now += self.seconds
        self.during(k)
        self.ranges = {"height": (0, k)}
        self.moving[0].set_ydata([0, k])
        return f"up to {k:g}"

    def fit(self, ranges):
        self.ax.set_ylim(ranges["height"])

    @property
    def top(self):
        return self.ax.get_ylim()[1]


def slide(drawing):
    return explore(drawing, k=(0.0, 16.0, 1.0))


@pytest.mark.parametrize(
    "seconds, shown, top",
    [(0.01, [1, 0, 4, 8, 12, 16, 1], 16), (0.9, [1, 0, 4, 8, 12, 1], 12), (10.0, [1], 1)],
)
def test_axes_start_with_a_few_places_of_each_control_as_far_as_patience_goes(
    clock, seconds, shown, top
):
    drawing = Bar(clock, seconds)
    explorer = slide(drawing)
    assert (drawing.shown, drawing.top) == (shown, top)
    assert explorer.summary == "bar, k=1: up to 1" and drawing.moving[0].get_ydata()[1] == 1


@pytest.mark.parametrize("slow", [False, True])
def test_what_is_shown_is_never_cut_off(clock, slow):
    drawing = Bar(clock, 10.0 if slow else 0.01)
    explorer = slide(drawing)
    explorer.set(k=9.0)
    assert drawing.top == (9 if slow else 16)
    explorer.set(k=1.0)
    assert drawing.top == (1 if slow else 16)
    if slow:
        explorer.set(k=2.0)
        explorer.set(k=1.0)
        assert drawing.top == 2, "axes that shrink and grow with the curve hide what it does"


def limits(explorer):
    return [ax.get_ylim() for ax in explorer.figure.axes]


def test_axes_hold_still_between_the_settings_that_were_measured():
    """Where nothing was tried, a curve may reach a hair beyond the axes, into their margin."""

    def bulge(x, k=0.0):
        return x * (1.015 if 0.1 < k < 0.2 else 1.0)

    explorer = explore(bulge, x=(-6, 6), k=(0.0, 1.0, 0.01))
    before = limits(explorer)
    found = [low + 0.08 / 1.16 * (high - low) for low, high in before]  # without the margin
    explorer.set(k=0.15)
    assert limits(explorer) == before
    assert explorer.drawing.ranges["value"][0] < found[0]


@pytest.mark.parametrize("height, stays", [(0.8, True), (1.0, True), (40.0, False)])
def test_axes_that_grew_shrink_only_after_a_setting_far_away(height, stays):
    """One that is as high as the others keeps its room; one far away would flatten all others."""
    explorer = explore(
        lambda x, k=0.0: x * (height * 2 if 0.4 < k < 0.6 else 1.0), x=(0, 1), k=(0.0, 1.0, 1.0)
    )
    explorer.show_at(k=0.5)
    grown = limits(explorer)
    explorer.show_at(k=1.0)
    assert (limits(explorer) == grown) == stays


def test_a_setting_far_away_from_all_others_does_not_flatten_them():
    explorer = explore(lambda x, k=0.5: x / k, k=(1e-6, 1.0, 1e-6))
    assert 6 < explorer.figure.axes[0].get_ylim()[1] < 100
    explorer.set(k=1e-6)
    assert explorer.figure.axes[0].get_ylim()[1] > 1e6
    explorer.set(k=0.5)
    assert explorer.figure.axes[0].get_ylim()[1] < 100


def test_an_error_at_a_place_waits_until_the_slider_gets_there(clock):
    def fails_high(k):
        if k > 8:
            raise ValueError(f"{k} is too high")

    drawing = Bar(clock, during=fails_high)
    explorer = slide(drawing)
    assert (drawing.top, explorer.message.value) == (8, "")
    with pytest.raises(ValueError, match="9.0 is too high"):
        explorer.set(k=9.0)
    assert "9.0 is too high" in explorer.message.value
    explorer.set(k=2.0)
    assert explorer.message.value == ""


@pytest.mark.slow
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_settings_without_finite_values_are_passed_over(value):
    explorer = explore(lambda x, k=1.0: x * (value if k > 1 else k), k=(0.0, 2.0, 0.5))
    assert explorer.figure.axes[0].get_ylim() == pytest.approx((-3.48, 3.48))
    start = explore(lambda x, k=1.0: x * (value if k == 1 else k), k=(1.0, 2.0, 1.0))
    assert start.figure.axes[0].get_ylim()[1] > 6


def test_a_function_that_prints_does_not_flood(capsys):
    def talks(x, k=1.0):
        print(f"k = {k}")
        print("careful", file=sys.stderr)
        print("half a line", end="")
        return k * x

    explorer = explore(talks, k=(0.0, 2.0, 0.5))
    assert capsys.readouterr() == ("k = 1.0\nhalf a linek = 1.0\nhalf a line\n", "careful\n")
    explorer.set(k=2.0)
    assert capsys.readouterr().out.startswith("k = 2.0\n")


def test_at_most_ten_lines_of_one_move_are_printed(capsys):
    lines = iter(range(10_000))

    def counts(x, k=1.0):
        print(*(next(lines) for _ in range(20)), sep="\n")
        return k * x

    explore(counts, k=(0.0, 2.0, 0.5))
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 11 and printed[-1] == "…"


def test_a_warning_while_measuring_is_not_used_up(clock):
    def warns(k):
        if k == 16:
            warnings.warn("careful", stacklevel=1)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        explorer = slide(Bar(clock, during=warns))
        assert heard == []
        explorer.set(k=16.0)
        assert len(heard) == 1


def test_a_slow_move_says_what_it_works_on_and_a_quick_one_does_not(clock):
    drawing = Bar(clock, 10.0)
    explorer, seen = slide(drawing), []
    drawing.during = lambda k: seen.append((explorer.message.value, explorer.picture.summary))
    explorer.set(k=2.0)
    line, said = seen[-1]
    assert "working on bar, k=2 …" in line and 'role="status"' in line
    assert "k=1" in said and "k=2" in explorer.picture.summary
    assert explorer.message.value == ""
    drawing.seconds = 0.01
    explorer.set(k=3.0)  # nobody knows before that it is quick
    explorer.set(k=4.0)
    assert seen[-1][0] == ""


@pytest.mark.parametrize("error", [ValueError("too slow"), KeyboardInterrupt()])
def test_a_slow_move_that_fails_does_not_work_on(clock, error):
    def fails(k):
        raise error

    explorer = slide(Bar(clock, 10.0))
    explorer.drawing.during = fails
    with pytest.raises(type(error)):
        explorer.set(k=2.0)
    assert type(error).__name__ in explorer.message.value
    assert "the last values that worked" in explorer.message.value
    assert "working" not in explorer.message.value
