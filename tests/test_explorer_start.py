"""How an explorer starts: one evaluation, then the range of its axes, a setting at a time.

Time is told by a fake clock, which stands still except where a drawing works or the loop waits.
"""

import asyncio
import math
import subprocess
import sys
import warnings
from operator import lt

import pytest
import torch
from test_drawings import MADE, at_ends

from autograd_surprises.show.picture import Picture
from helpers.explore import explorer as explorer_module
from helpers.explore import range_search
from helpers.explore.controls import control, reachable
from helpers.explore.drawings import curve
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.explorer import explore

LOW, HIGH = 0.0, 16.0  # of the slider k: 17 settings, of which 1 is the default


class Clock:
    def __init__(self):
        self.now, self.pauses = 100.0, []

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(explorer_module, "perf_counter", clock)
    monkeypatch.setattr(range_search, "perf_counter", clock)
    return clock


class Bar(Drawing):
    """A line from 0 up to k; each evaluation takes some seconds of the clock."""

    name = "bar"

    def __init__(self, clock, seconds=0.001, during=lambda k: None):
        self.clock, self.seconds, self.during = clock, seconds, during
        self.shown, self.measured = [], []
        self.figure = Picture(4, 3)
        self.ax = self.figure.subplots()
        self.moving = self.ax.plot([0, 1], [0, 0])

    def show(self, k=1.0):
        self.shown.append(k)
        self.ranges = self._evaluate(k)
        self.moving[0].set_ydata([0, k])
        return f"up to {k:g}"

    def measure(self, k):
        self.measured.append(k)
        return self._evaluate(k)

    def fit(self, ranges):
        self.ax.set_ylim(ranges["height"])

    def _evaluate(self, k):
        self.clock.now += self.seconds
        self.during(k)
        return {"height": (0, k)}

    @property
    def top(self):
        return self.ax.get_ylim()[1]


def slide(drawing):
    return explore(drawing, k=(LOW, HIGH, 1.0))


def in_a_kernel(clock, cell):
    """Run a cell, `cell()`, in a loop whose waits move the clock and take no time."""

    async def run():
        loop = asyncio.get_running_loop()

        def call_later(seconds, call):
            due = clock.now + seconds

            def look():
                clock.now = max(clock.now, min(due, clock.now + 0.1))
                if clock.now < due:
                    loop.call_soon(look)
                else:
                    call()

            clock.pauses.append(seconds)
            loop.call_soon(look)

        loop.call_later = call_later
        return await cell()

    return asyncio.run(run())


async def pass_time(turns=100):
    """Let the loop turn; yields after each turn."""
    for _ in range(turns):
        await asyncio.sleep(0)
        yield


async def rest():
    async for _ in pass_time():
        pass


def test_the_first_picture_takes_one_evaluation(clock):
    drawing = Bar(clock)

    async def cell():
        slide(drawing)
        return list(drawing.shown), list(drawing.measured)

    assert in_a_kernel(clock, cell) == ([1.0], [])
    assert drawing.top == 1


def test_the_first_curve_is_measured_once(monkeypatch):
    measured = []
    original = curve.gradient_curve
    monkeypatch.setattr(
        curve, "gradient_curve", lambda *args, **kw: measured.append(kw) or original(*args, **kw)
    )
    explore(lambda x, k=1.0: k * x, k=(0.0, 2.0))
    assert measured == [{"k": 1.0}]


def test_plain_python_has_no_background_and_fit_measures_all(clock):
    drawing = Bar(clock)
    explorer = slide(drawing)
    assert drawing.measured == [] and drawing.top == 1
    assert explorer.fit() is explorer
    assert sorted(drawing.measured) == list(range(17)) and drawing.top == 16
    explorer.fit()
    assert len(drawing.measured) == 17


def test_the_loop_is_free_after_each_setting(clock):
    drawing = Bar(clock, seconds=0.05)

    async def cell():
        explorer, counts = slide(drawing), []
        async for _ in pass_time():
            counts.append(len(drawing.measured))
        assert explorer.values == {"k": 1.0}
        return counts

    counts = in_a_kernel(clock, cell)
    steps = [after - before for before, after in zip(counts, counts[1:], strict=False)]
    assert counts[-1] == 17 and set(steps) == {0, 1}
    pauses = [pause for pause in clock.pauses if pause]
    assert pauses == pytest.approx([0.05] * 16), "as long as the setting before took"


def test_quick_settings_follow_each_other_at_once(clock):
    async def cell():
        explorer, start, seen = slide(Bar(clock, seconds=0.004)), clock.now, set()
        explorer.message.observe(lambda change: seen.add(change["new"]), "value")
        await rest()
        assert explorer.drawing.top == 16
        return clock.now - start, seen

    seconds, seen = in_a_kernel(clock, cell)
    assert seconds < 0.1
    assert seen == set(), "a line that comes and goes would flicker"


def test_the_axes_change_once_and_no_line_distracts_from_the_picture(clock):
    async def cell():
        explorer, tops, lines = slide(Bar(clock, seconds=0.17)), [], []
        async for _ in pass_time():
            tops.append(explorer.drawing.top)
            lines.append(explorer.message.value)
        return tops, lines

    tops, lines = in_a_kernel(clock, cell)
    changed = tops.index(16)
    assert set(tops[:changed]) == {1} and set(tops[changed:]) == {16}
    assert set(lines) == {""}


def test_the_axes_do_not_change_under_a_moving_hand(clock):
    async def cell():
        explorer, tops = slide(Bar(clock)), []
        for turn in range(60):
            clock.now += 0.1
            explorer.set(k=(1.0, 0.0)[turn % 2])
            await asyncio.sleep(0)
            tops.append(explorer.drawing.top)
        moved, before = clock.now, len(explorer.drawing.shown)
        while explorer.drawing.top == 1:
            await asyncio.sleep(0)
        assert len(explorer.drawing.shown) == before, "a change of the axes evaluates nothing"
        return tops, len(explorer.drawing.measured), clock.now - moved

    tops, measured, waited = in_a_kernel(clock, cell)
    assert set(tops) == {1} and measured == 17
    assert waited == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("seconds, most", [(10.0, 0), (0.5, 1), (0.2, 15)])
def test_a_slow_function_is_left_alone(clock, seconds, most):
    drawing = Bar(clock, seconds)

    async def cell():
        explorer = slide(drawing)
        await rest()
        assert explorer.message.value == ""
        assert drawing.top == max([1, *drawing.measured])
        explorer.set(k=2.0)
        assert drawing.top >= 2

    in_a_kernel(clock, cell)
    assert len(drawing.measured) == most
    assert {LOW, HIGH} <= {*drawing.measured} or most < 15, "the ends say most"


def test_a_setting_that_takes_much_longer_is_not_met_by_surprise(clock):
    drawing = Bar(clock)

    def work(k):  # as one that loops k times
        clock.now += 0.05 * k

    drawing.during = work

    async def cell():
        slide(drawing)
        start, longest = clock.now, 0.0
        async for _ in pass_time():
            longest, start = max(longest, clock.now - start), clock.now
        return longest

    assert in_a_kernel(clock, cell) < 0.7
    assert 4 <= max(drawing.measured) < HIGH


def test_the_search_ends_when_the_cell_runs_again(clock):
    drawing = Bar(clock)

    async def cell():
        explorer = slide(drawing)
        explorer._view_count = 1
        await asyncio.sleep(0)
        explorer._view_count = 0
        before = len(drawing.measured)
        await rest()
        assert explorer.message.value == ""
        return before

    before = in_a_kernel(clock, cell)
    assert 0 < before == len(drawing.measured) < 17


def test_values_that_change_no_curve_are_not_searched():
    explorer = explore(torch.square, point=0.5, grad_output=(0.0, 2.0, 1.0))
    measured = []
    explorer.drawing.measure = lambda **values: measured.append(values["grad_output"]) or {}
    explorer.fit()
    assert sorted(measured) == [0, 1, 2]


def test_a_first_call_that_loads_things_is_not_taken_for_a_slow_function(clock):
    drawing = Bar(clock, 0.5)

    async def cell():
        slide(drawing)
        drawing.seconds = 0.001
        await rest()

    in_a_kernel(clock, cell)
    assert drawing.top == 16


def test_what_is_shown_is_never_cut_off(clock):
    drawing = Bar(clock)
    explorer = slide(drawing)
    explorer.set(k=9.0)
    assert drawing.top == 9
    explorer.set(k=2.0)
    assert drawing.top == 9, "axes that shrink and grow with the curve hide what it does"


def limits(explorer):
    return [ax.get_ylim() for ax in explorer.figure.axes]


def test_axes_hold_still_between_the_settings_that_were_measured():
    """Where the search has not looked, a curve may reach a hair beyond what it has found."""

    def swish(x, beta=1.0):
        return x * torch.sigmoid(beta * x)

    explorer, beyond = explore(swish, x=(-6, 6), beta=(0.2, 4.0, 0.01)).fit(), False
    before = limits(explorer)
    found = [low + 0.08 / 1.16 * (high - low) for low, high in before]  # without the margin
    for k in range(20, 401):
        explorer.set(beta=k / 100)
        assert limits(explorer) == before
        lowest = [explorer.drawing.ranges[name][0] for name in ("value", "gradient")]
        beyond |= any(map(lt, lowest, found))
    assert beyond, "this function no longer reaches beyond: take another one"


@pytest.mark.parametrize("height, stays", [(0.8, True), (1.0, True), (40.0, False)])
def test_axes_that_grew_shrink_only_after_a_setting_far_away(height, stays):
    """One that is as high as the others keeps its room; one far away would flatten all others."""
    explorer = explore(
        lambda x, k=0.0: x * (height * 2 if 0.4 < k < 0.6 else 1.0), x=(0, 1), k=(0.0, 1.0, 1.0)
    ).fit()
    explorer.show_at(k=0.5)
    grown = limits(explorer)
    explorer.show_at(k=1.0)
    assert (limits(explorer) == grown) == stays


WITH_RANGES = "curve", "point", "side by side", "jacobian", "field", "curvature", "descent"


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_RANGES)
def test_a_drawing_measures_what_it_would_show(name):
    make, sliders = MADE[name]
    explorer, other = explore(make(), **sliders), make()
    low, high = at_ends(explorer, 0), at_ends(explorer, -1)
    explorer.set(**low)
    shown, sentence = explorer.drawing.ranges, other.show(**explorer.values)
    assert other.measure(**low) == other.ranges == shown != {}
    other.measure(**high)  # shows nothing
    assert other.ranges == shown and other.show(**low) == sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_RANGES)
def test_axes_end_in_those_of_all_settings(name):
    make, sliders = MADE[name]
    explorer = explore(make(), **sliders)
    ranges = []
    for end in (0, -1):
        explorer.set(**at_ends(explorer, end))
        ranges.append(explorer.drawing.ranges)
    held = [ax.axis() for ax in explorer.figure.axes]
    for of_one in ranges:
        explorer.drawing.fit(of_one)
        for (left, right, low, high), ax in zip(held, explorer.figure.axes, strict=True):
            x, y = sorted(ax.get_xlim()), sorted(ax.get_ylim())
            assert min(left, right) <= x[0] and x[1] <= max(left, right)
            assert min(low, high) <= y[0] and y[1] <= max(low, high)


@pytest.mark.slow
def test_a_setting_far_away_from_all_others_does_not_flatten_them():
    explorer = explore(lambda x, k=0.5: x / k, k=(-0.7, 0.9, 0.1))  # -0.7 + 7 * 0.1 is 1e-16
    tiny = explorer.sliders["k"].min + 7 * explorer.sliders["k"].step
    assert 0 < abs(tiny) < 1e-15
    explorer.fit()
    assert 6 < explorer.figure.axes[0].get_ylim()[1] < 100
    explorer.set(k=tiny)
    assert explorer.figure.axes[0].get_ylim()[1] > 1e16
    explorer.set(k=0.5)
    assert explorer.figure.axes[0].get_ylim()[1] < 100


def test_longer_labels_find_room(clock):
    drawing = Bar(clock)
    drawing.ax.ticklabel_format(style="plain")
    explorer = explore(drawing, k=(0.0, 1e7))
    explorer.set(k=1e7)
    renderer = drawing.figure.canvas.get_renderer()
    assert min(label.get_window_extent(renderer).x0 for label in drawing.ax.get_yticklabels()) >= 0


def test_an_error_in_a_measured_setting_waits_until_the_slider_gets_there(clock):
    def fails_high(k):
        if k > 8:
            raise ValueError(f"{k} is too high")

    drawing = Bar(clock, during=fails_high)

    async def cell():
        explorer = slide(drawing)
        await rest()
        assert (drawing.top, explorer.message.value) == (8, "")
        with pytest.raises(ValueError, match="9.0 is too high"):
            explorer.set(k=9.0)
        assert "9.0 is too high" in explorer.message.value
        explorer.set(k=2.0)
        assert explorer.message.value == ""

    in_a_kernel(clock, cell)


def test_progress_does_not_hide_an_error(clock):
    def fails_low(k):
        if k == 0:
            raise ValueError("too low")

    async def cell():
        explorer, lines = slide(Bar(clock, 0.17, fails_low)), []
        with pytest.raises(ValueError, match="too low"):
            explorer.set(k=0.0)
        async for _ in pass_time():
            lines.append(explorer.message.value)
        assert explorer.drawing.top == 16
        return lines

    assert all("too low" in line for line in in_a_kernel(clock, cell))


@pytest.mark.slow
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_settings_without_finite_values_are_passed_over(value):
    explorer = explore(lambda x, k=1.0: x * (value if k > 1 else k), k=(0.0, 2.0, 0.5)).fit()
    assert explorer.figure.axes[0].get_ylim() == pytest.approx((-3.48, 3.48))
    start = explore(lambda x, k=1.0: x * (value if k == 1 else k), k=(0.0, 2.0, 0.5))
    assert start.figure.axes[0].get_ylim() == (-1, 1)
    start.set(k=2.0)
    assert start.figure.axes[0].get_ylim()[1] > 6


def test_the_axes_change_once_under_a_hand_that_never_rests(clock):
    drawing, tops = Bar(clock), []

    async def cell():
        explorer = slide(drawing)
        while len(drawing.measured) < 17:
            clock.now += 0.1
            explorer.set(k=float(len(drawing.measured) % 2))
            await asyncio.sleep(0)
        assert drawing.top == 1
        for k in (2.0, 3.0, 9.0):
            explorer.set(k=k)
            tops.append(drawing.top)

    in_a_kernel(clock, cell)
    assert tops == [16, 16, 16]


def test_a_function_that_prints_does_not_flood(capsys):
    def talks(x, k=1.0):
        print(f"k = {k}")
        print("careful", file=sys.stderr)
        return k * x

    explorer = explore(talks, k=(0.0, 2.0, 0.5))
    assert capsys.readouterr() == ("k = 1.0\n", "careful\n")
    explorer.fit()
    assert capsys.readouterr() == ("", "")
    explorer.set(k=2.0)
    assert capsys.readouterr() == ("k = 2.0\n", "careful\n")


def test_at_most_ten_lines_of_one_move_are_printed(capsys):
    lines = iter(range(10_000))

    def counts(x, k=1.0):
        print(*(next(lines) for _ in range(20)), sep="\n")
        print("and no end of line", end="")
        return k * x

    explore(counts, k=(0.0, 2.0, 0.5))
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 11 and printed[-1] == "…"


def test_what_keeps_the_output_may_write_later(capsys):
    kept = []

    def logs(x, k=1.0):
        kept.append(sys.stdout)  # as a logger does that is made at the first call
        return k * x

    explore(logs, k=(0.0, 2.0, 0.5))
    print("later", file=kept[0])
    assert capsys.readouterr().out == "later\n"


def test_a_warning_while_measuring_is_not_used_up(clock):
    def warns(k):
        warnings.warn("careful", stacklevel=1)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        explorer = slide(Bar(clock))
        explorer.drawing.during = warns
        explorer.fit()
        assert heard == []
        explorer.set(k=2.0)
        assert len(heard) == 1


def test_the_search_ends_when_the_explorer_is_closed(clock):
    async def cell():
        explorer = slide(Bar(clock))
        drawing = explorer.drawing
        await asyncio.sleep(0)
        explorer.close()
        before = len(drawing.measured)
        await rest()
        return before, len(drawing.measured)

    before, after = in_a_kernel(clock, cell)
    assert before == after < 17


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


def stored(explorer):
    data, _ = explorer._repr_mimebundle_()
    return data["image/png"], data["text/plain"]


@pytest.mark.slow
def test_what_is_stored_does_not_depend_on_how_far_the_search_is():
    early, late = (explore(lambda x, k=1.0: k * x, k=(0.0, 8.0, 0.5)) for _ in range(2))
    late.fit()
    limits = late.figure.axes[0].get_ylim()
    assert stored(early) == stored(late)
    for explorer in (early, late):
        explorer.set(k=8.0)
        explorer.set(k=2.0)
    assert stored(early) == stored(late)
    assert late.figure.axes[0].get_ylim() == limits, "what is live stays as it was"


@pytest.mark.parametrize("k", [0.0, 8.0, 16.0])
def test_the_search_goes_to_the_ends_in_growing_steps(k):
    settings = reachable({"k": control("k", (LOW, HIGH, 1.0), k)})
    assert sorted(each["k"] for each in settings) == list(range(17))
    search = range_search.RangeSearch(Bar(Clock()), settings)
    order = [each["k"] for each in search.left[::-1]]
    away = [abs(each - k) for each in order]
    ends = max(order.index(LOW), order.index(HIGH)) if k == 8 else away.index(16)
    assert order[0] == k and away[: ends + 1] == sorted(away[: ends + 1]) and ends < 8
    assert len(order) == len(set(order)) == search.count == 17


def test_a_line_without_an_end_is_printed_too(clock, capsys):
    slide(Bar(clock, during=lambda k: print("half a line", end="")))
    assert capsys.readouterr().out == "half a line\n"


@pytest.mark.slow
def test_what_torch_imports_first_does_not_count_as_a_slow_function():
    # The axes would stay as they are "as this takes long", although the function is quick.
    code = (
        "import sys\n"
        "from helpers.explore import explore\n"
        "loaded = []\n"
        "explore(lambda x, k=1.0: loaded.append(len(sys.modules)) or k * x, k=(0.0, 2.0))\n"
        "print(len(sys.modules) - loaded[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100
