"""Explorers without a browser: sliders moved in Python, the curve and the picture that follow."""

import base64
import gc
import io

import ipywidgets
import pytest
import torch
from PIL import Image
from read_strokes import read_strokes

from helpers.explore.controls import control, positions
from helpers.explore.explorer import explore
from helpers.functions import round_ste


def round_to(x, step=0.5, rounding="round"):
    return getattr(torch, rounding)(x / step) * step


@pytest.fixture
def explorer():
    return explore(round_to, step=(0.5, 2.0, 0.5), rounding=["round", "floor"])


def test_controls_start_at_the_defaults_of_the_function(explorer):
    assert explorer.values == {"step": 0.5, "rounding": "round"}
    assert explorer.summary == (
        "round_to, step=0.5, rounding=round: value -3 to 3, gradient 0, slope 0"
    )


def test_a_moved_slider_moves_curve_picture_and_text(explorer):
    before = read_strokes(explorer.picture)
    explorer.sliders["step"].value = 2.0
    assert explorer.curve.y.unique().tolist() == [-4, -2, 0, 2, 4]
    assert "step=2," in explorer.summary == explorer.picture.summary
    assert read_strokes(explorer.picture) != before


def half_or_whole(x, half=False, lie=False):
    return round_ste(x) if lie else x / (1 + half)


STALE = {
    "a lie": (half_or_whole, {"half": True, "lie": True}, {"lie": True}, {"lie": False}),
    "limits": (lambda x, k=1.0: x / k**3, {"k": (-2.0, 2.0, 0.1)}, {"k": 0.1}, {"k": 1.0}),
    "other limits": (lambda x, k=1.0: x / k**3, {"k": (-2.0, 2.0, 0.1)}, {"k": 0.1}, {"k": -0.1}),
    "a pole": (lambda x, k=1.0: 1 / (x - k), {"k": (-2.0, 2.0, 0.1)}, {"k": 0.3}, {"k": -1.3}),
    "marks": (lambda x, k=1.0: torch.log(x + k), {"k": (0.0, 4.0, 0.5)}, {"k": 1.0}, {"k": 4.0}),
    "some marks": (lambda x, k=1.0: torch.log(k - x), {"k": (-3.0, 3.0)}, {"k": 3.0}, {"k": 0.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STALE)
def test_nothing_is_left_of_the_curve_before(name):
    """Title, limits and labels belong to the values that the controls show now."""
    fn, sliders, *moves = STALE[name]
    explorer, fresh = (explore(fn, **sliders) for _ in range(2))
    for values in (moves[1], moves[0]):
        explorer.set(**values)
    before = read_strokes(explorer.picture)
    for moved in (explorer, fresh):
        moved.set(**moves[1])
    assert read_strokes(explorer.picture) == read_strokes(fresh.picture) != before


def test_the_title_says_whether_the_gradient_is_the_slope():
    explorer = explore(half_or_whole, lie=True, half=True)
    for lie, half, title in ((1, 0, "≠"), (0, 1, "="), (0, 0, "="), (1, 1, "≠"), (0, 1, "=")):
        explorer.set(lie=bool(lie), half=bool(half))
        assert explorer.figure.axes[1].get_title() == f"gradient {title} slope"
        assert bool(explorer.curve.disagreement()) == (title == "≠")


def test_an_error_is_shown_in_red_and_raised_and_goes_away():
    def fails_low(x, k=1.0):
        if k < 0:
            raise ValueError("k is <b>too</b> low")
        return k * x

    explorer = explore(fails_low, k=(-1.0, 1.0, 0.5))
    shown, summary = read_strokes(explorer.picture), explorer.summary
    with pytest.raises(ValueError, match="too"):
        explorer.sliders["k"].value = -1.0
    assert "ValueError: k is &lt;b&gt;too&lt;/b&gt; low" in explorer.message.value
    assert 'role="alert"' in explorer.message.value and "#b00020" in explorer.message.value
    assert (read_strokes(explorer.picture), explorer.summary) == (shown, summary)
    explorer.set(k=0.5)
    assert explorer.message.value == ""
    assert "k=0.5" in explorer.summary


def test_an_error_at_the_start_is_raised_at_once():
    with pytest.raises(ValueError, match="elementwise"):
        explore(lambda x, k=1.0: (x - x.mean()) * k, k=(0.0, 1.0))


def below_0(x):
    raise ArithmeticError("below 0")


@pytest.mark.parametrize(
    "fn, origin", [(torch.zeros_like, []), (lambda x: below_0(x), ["<lambda>", "below_0"])]
)
def test_an_error_at_the_start_shows_the_readers_code(fn, origin):
    with pytest.raises((ValueError, ArithmeticError)) as raised:
        explore(fn)
    _, call, *frames = [frame.name for frame in raised.traceback]
    ours = [] if origin else frames[-1:]  # where the error of ours was raised
    assert call == "explore" and frames == origin + ours


def test_a_refused_value_leaves_everything_as_it_was(explorer):
    before = explorer.values, explorer.summary
    for wrong, message in (
        ({"step": 9.0}, "step needs to be from 0.5 to 2.0, got 9.0"),
        ({"step": "x"}, "step needs to be from 0.5 to 2.0, got 'x'"),
        ({"rounding": "up"}, "rounding cannot be 'up'"),
        ({"rounding": "floor", "step": 9.0}, "step needs to be from"),
    ):
        with pytest.raises(ValueError, match=message):
            explorer.set(**wrong)
        assert (explorer.values, explorer.summary) == before
    with pytest.raises(TypeError, match="no control 'bits' here, only step, rounding"):
        explorer.set(bits=2)


@pytest.mark.parametrize(
    "controls, error, message",
    [
        ({"stop": (0, 1)}, TypeError, "'stop' is not a parameter of round_to: choose from step"),
        ({"step": (1, 1)}, ValueError, r"step=\(1, 1\) needs finite numbers, min < max"),
        ({"step": (0.5, 2.0, 0.0)}, ValueError, "a step above 0"),
        ({"step": (1.0, 2.0)}, ValueError, "step needs to be from 1.0 to 2.0, got 0.5"),
        ({"step": (0.5, torch.inf)}, ValueError, "needs finite numbers"),
        ({"step": (0.5, 1.0, None)}, TypeError, r"for a checkbox; got \(0.5, 1.0, None\)"),
        ({"rounding": []}, ValueError, "leaves nothing to choose from"),
        (
            {"rounding": "round"},
            TypeError,
            "rounding needs .*, a list of choices for a menu, .* got",
        ),
        ({"step": None}, TypeError, r"step needs \(min, max\), .* for a slider, .*; got None"),
        ({"points": (2, 10)}, TypeError, "'points' is a setting of the picture"),
    ],
)
def test_controls_that_cannot_be(controls, error, message):
    with pytest.raises(error, match=message):
        explore(round_to, **controls)


def test_kinds_of_controls():
    def fn(x, real=0.0, whole=1, flag=False, choice="a"):
        return x * real + whole * flag

    kinds = explore(fn, real=(0.0, 1.0), whole=(0, 3), flag=True, choice=["a", "b"]).sliders
    assert isinstance(kinds["real"], ipywidgets.FloatSlider)
    assert isinstance(kinds["whole"], ipywidgets.IntSlider)
    assert isinstance(kinds["flag"], ipywidgets.Checkbox)
    assert isinstance(kinds["choice"], ipywidgets.Dropdown)
    assert kinds["choice"].layout.width == "max-content"  # or a long choice is cut off
    assert [control.description for control in kinds.values()] == list(kinds)


@pytest.mark.parametrize(
    "range_, sent, value",
    [
        ((-3.75, 5.75, 0.25), 4.500000000000002, 4.5),
        ((0.125, 3.0, 0.125), 0.9999999999999999, 1.0),
        ((0.0, 1.0, 0.3), 1.0, 1.0),  # the end is no whole step
        ((0.0, 1.0, 0.25), 0.6, 0.6),  # meant so, though it is no whole step
    ],
)
def test_numbers_as_the_page_computes_them(range_, sent, value):
    slider = control("width", range_)
    slider.set_state({"value": sent})
    assert slider.value == value
    assert slider.get_state("value") == {"value": sent}


def test_a_page_does_not_round_where_steps_have_led():
    walk = explore(torch.square, point=0.3)
    walk.set(point=0.2984, lr=0.05)
    assert walk.sliders["point"].get_state("value")["value"] == pytest.approx(0.3)
    walk.sliders["point"].set_state(walk.sliders["point"].get_state("value"))
    assert walk.values["point"] == 0.2984


def test_what_a_notebook_stores(explorer):
    data, metadata = explorer._repr_mimebundle_()
    text = f"{explorer.summary}\nRun this cell: controls step, rounding"
    assert data["text/plain"] == text == metadata["image/png"]["alt"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert len(data["image/png"]) < 80_000
    assert explorer.picture.size == [800, 340]
    png = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert png.size == (1600, 680 + 60), "with a line below it"
    below = png.convert("RGBA").getchannel("A").crop((0, 680, 1600, 740))
    assert below.getextrema()[1] > 200, "which is written"


def width_of_title(explorer):
    """In the stored picture, from the first letter to the last, in pixels."""
    png = base64.b64decode(explorer._repr_mimebundle_()[0]["image/png"])
    title = Image.open(io.BytesIO(png)).convert("RGBA").getchannel("A").crop((0, 0, 1600, 42))
    left, _, right, _ = title.point(lambda level: 255 * (level > 128)).getbbox()
    return right - left


def test_a_stored_picture_has_the_values_in_its_title(explorer):
    with_two_digits = width_of_title(explorer)
    explorer.set(step=2.0)
    assert width_of_title(explorer) < with_two_digits - 10


def test_a_stored_picture_moves_nothing_on_the_page():
    explorer = explore(lambda x, by=1.0: by * x, by=(1.0, 9.0))
    axes = explorer.figure.axes
    before = [ax.get_position().bounds for ax in axes]
    explorer.stored_output()
    assert [ax.get_position().bounds for ax in axes] == before
    assert all(ax.get_in_layout() for ax in axes)


@pytest.mark.slow
def test_many_moves_leave_nothing_behind(explorer):
    def count():
        gc.collect()
        modules = (str(getattr(type(thing), "__module__", "")) for thing in gc.get_objects())
        return sum(module.startswith("matplotlib") for module in modules)

    explorer.set(step=1.0)
    before = count()
    for i in range(20):
        explorer.set(step=(0.5, 1.0, 2.0)[i % 3])
    assert count() <= before + 20


@pytest.mark.parametrize(
    "range_, shown",
    [((0.0, 1.0, 0.125), ".3f"), ((0.125, 2.0, 0.5), ".3f"), ((0.0, 1.0, 0.5), ".2f"),
     ((0.0, 1.0), ".2f"), ((0.0, 1e-6, 1e-7), ".7f"), ((0.0, 1e9, 1e8), ".2f")],
)  # fmt: skip
def test_a_slider_reads_all_the_digits_of_its_steps(range_, shown):
    assert control("width", range_).readout_format == shown


def test_a_step_that_does_not_reach_the_end_keeps_the_end():
    assert positions(control("width", (0.0, 1.0, 0.4))) == pytest.approx([0, 0.4, 0.8, 1])
    assert positions(control("width", (0.0, 1.0, 5.0))) == [0, 1]
    assert len(positions(control("width", (0.0, 2.1, 0.3)))) == 8  # 2.1 / 0.3 is more than 7


def test_the_legend_is_drawn_again_when_a_line_has_another_name():
    explorer = explore(torch.sin, grad_output=(1.0, 3.0, 1.0))
    before = explorer.picture.frame
    explorer.set(grad_output=2.0)
    assert explorer.picture.frame != before
