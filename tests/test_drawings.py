"""Every drawing follows its sliders, and says what it shows."""

from itertools import combinations

import pytest
import torch
from made_drawings import MADE, at_ends, bowl, goals, jump, outputs, shared
from matplotlib.text import Text
from read_strokes import read_strokes

from autograd_surprises.show.picture import Picture
from helpers.explore.explorer import explore
from lessons.backward_needs_a_gradient.drawings import FieldDrawing, JacobianDrawing
from lessons.drawings.arrow import Arrow, angle_between
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp


@pytest.fixture(params=MADE)
def explorer(request):
    explorer, start = shared(request.param)
    explorer.set(**start)
    return explorer


@pytest.mark.slow
def test_each_control_moves_picture_and_text(explorer):
    start = explorer.values
    for name in explorer.sliders:
        seen = []
        for values in (at_ends(explorer, 0), at_ends(explorer, -1)):
            explorer.set(**{**start, name: values[name]})
            seen.append((explorer.picture.moving, explorer.summary))
            shown = values[name] if isinstance(values[name], str) else f"{values[name]:g}"
            assert f"{name}={shown}" in explorer.summary == explorer.picture.summary
        assert seen[0][0] != seen[1][0], f"{name} moves nothing"
        assert seen[0][1] != seen[1][1]


@pytest.mark.slow
def test_a_moved_explorer_shows_what_a_fresh_one_shows(explorer, request):
    """Nothing is left of the values before, and the same values give the same picture."""
    make, sliders = MADE[request.node.callspec.params["explorer"]]
    first = read_strokes(explorer.picture)
    for ends in ((-1, 0), (0, -1)):
        explorer.set(**at_ends(explorer, *ends))
    fresh = explore(make(), **sliders)
    assert read_strokes(fresh.picture) == first
    fresh.set(**explorer.values)
    assert read_strokes(explorer.picture) == read_strokes(fresh.picture) != first
    assert explorer.summary == fresh.summary


WITH_HANDLES = [name for name, (make, _) in MADE.items() if make().handles]


@pytest.mark.parametrize("name", WITH_HANDLES)
def test_a_handle_is_where_its_sliders_say(name):
    """So a page that drags it moves the slider of this direction, and not the other one."""
    explorer, _ = shared(name)
    (handle,) = explorer.picture.handles
    for ends in ((0, -1), (-1, 0), (0, 0)):
        explorer.set(**at_ends(explorer, *ends))
        (((_, pixels),)) = [
            stroke for stroke in read_strokes(explorer.picture)[1] if '"handle"' in stroke[0]
        ]
        ax = explorer.picture.axes[handle["axes"]]
        left, top, width, height = ax["box"]
        (x1, x2), (y1, y2) = ax["x"]["range"], ax["y"]["range"]
        at = (
            x1 + (pixels[0] / 16 - left) / width * (x2 - x1),
            y2 - (pixels[1] / 16 - top) / height * (y2 - y1),
        )
        for place, of in zip(at, handle["names"], strict=True):
            assert of is None or place == pytest.approx(explorer.values[of], abs=0.05)


@pytest.mark.slow
def test_a_move_draws_only_what_moves(explorer, monkeypatch):
    """Drawing the whole figure for each move would take five times as long."""
    canvas, frames = explorer.figure.canvas, set()
    for ends in ((0, -1), (-1, 0)):
        with monkeypatch.context() as patch:
            patch.setattr(canvas, "draw", lambda: pytest.fail("drew the frame again"))
            explorer.set(**at_ends(explorer, *ends))
        canvas.draw()  # leaves out what moves
        frames.add(bytes(canvas.buffer_rgba()))
    assert len(frames) == 1


@pytest.mark.slow
def test_words_have_room(explorer):
    figure = explorer.figure
    figure.canvas.draw()
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = {text: text.get_window_extent() for text in shown}
    titles = [(ax.title, ax.bbox) for ax in figure.axes]
    assert [t.get_text() for t, axes in titles if t in boxes and boxes[t].width > axes.width] == []
    # only ticks within the limits are drawn
    ticks = {t for ax in figure.axes for t in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    others = {text: box for text, box in boxes.items() if text not in ticks}
    over = [
        (a.get_text(), b.get_text())
        for a, b in combinations(others, 2)
        if others[a].padded(-1).overlaps(others[b].padded(-1))
    ]
    assert over == []


# What each drawing shows is read from `moving`, in the order in which it is drawn.


def test_two_kinds_of_marks_show_the_lowest_values_that_are_defined():
    plane = FieldDrawing(torch.sqrt).figure.axes[1]
    marks = [line for line in plane.lines if line.get_label().startswith("lowest")]
    places = [mark.get_xydata()[0][k] for k, mark in enumerate(marks)]
    assert places == pytest.approx([0, 0], abs=0.11)
    assert marks[0].get_marker() != marks[1].get_marker()  # not told apart by colour alone


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: JacobianDrawing(torch.sum, torch.ones(2)), ValueError, r"turned shape \(2,\)"),
        (
            lambda: JacobianDrawing(torch.log, torch.zeros(2)),
            ValueError,
            "x = .* not finite",
        ),
        (lambda: CurvatureDrawing(torch.sin, (3, -3)), ValueError, "with at in it, got x="),
        (
            lambda: DescentDrawing(lambda x: 0 * bowl(x), {"jumping": jump}),
            ValueError,
            "it is flat",
        ),
        (
            lambda: DescentDrawing(bowl, {"last": lambda fn, x: x}).show(x1=1.0),
            ValueError,
            r"last needs to return points of shape \(steps \+ 1, 2\), got \(2,\)",
        ),
        (lambda: CurvatureDrawing(lambda x, at=1: x * at), ValueError, "another name"),
        (lambda: FieldDrawing(lambda x: x * torch.nan), ValueError, "NaN everywhere"),
        (lambda: FieldDrawing(torch.sum), ValueError, "fn needs to turn x of shape"),
        (lambda: explore(FieldDrawing(goals), x=(0, 1)), TypeError, "interval of a function"),
        (lambda: explore(FieldDrawing(goals), v3=(0.0, 1.0)), TypeError, "'v3' is not a parameter"),
        (lambda: CurvatureDrawing(torch.sum).show(at=0.0), ValueError, "needs to be elementwise"),
    ],
)
def test_what_cannot_be_drawn(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_drawing_has_one_explorer():
    drawing = FieldDrawing(goals)
    explore(drawing, v1=(-1.0, 1.0))
    with pytest.raises(ValueError, match="has its sliders already"):
        explore(drawing, v1=(-9.0, 9.0))


def runs_away(fn, start):
    return torch.stack([start * 1000.0**k for k in range(60)] + [start * torch.nan])


@pytest.mark.slow
@pytest.mark.parametrize(
    "make, sliders",
    [
        (lambda: JacobianDrawing(outputs, torch.ones(2).double()), {"v2": (-1.0, 1.0)}),
        (lambda: FieldDrawing(torch.sqrt), {"v1": (-1.0, 1.0)}),
        (lambda: CurvatureDrawing(lambda x: 3 * x), {"at": (-1.0, 1.0)}),
        (lambda: CurvatureDrawing(torch.sqrt), {"at": (-1.0, 1.0)}),
        (lambda: CurvatureDrawing(lambda x: x * torch.nan), {"at": (-1.0, 1.0)}),
        (lambda: DescentDrawing(bowl, {"away": runs_away}), {"x1": (-5.0, 5.0)}),
    ],
)
@pytest.mark.filterwarnings("error")
def test_far_and_undefined_numbers_do_not_break_a_picture(make, sliders):
    explorer = explore(make(), **sliders)
    for name, slider in explorer.sliders.items():
        explorer.set(**{name: slider.min})
        explorer.set(**{name: slider.max})


def test_an_arrow_ends_at_its_point_and_a_short_one_has_a_short_head():
    arrow = Arrow(axes_from_minus_2_to_2(), "black")
    for tip in ((1.0, 0.0), (0.0, -0.5), (1e-3, 0.0)):
        arrow.point_to(tip)
        assert (arrow.line.get_xdata()[1], arrow.line.get_ydata()[1]) == tip
        head = torch.tensor(arrow.artists[1].get_xydata())
        assert tuple(head[1].tolist()) == tip
        length = torch.tensor(tip, dtype=torch.float64).norm().item()
        assert ((head[[0, 2]] - head[1]).norm(dim=1) <= length + 1e-12).all()


def axes_from_minus_2_to_2():
    return Picture(4, 3).subplots(subplot_kw={"xlim": (-2, 2), "ylim": (-2, 2)})


def test_angles_are_exact_where_a_cosine_is_rounded():
    first = torch.tensor([1.0, 0.0], dtype=torch.float64)
    turned = torch.tensor([1.0, 1e-9], dtype=torch.float64)
    assert angle_between(first, turned) == pytest.approx(1e-9 * 180 / torch.pi)
    assert angle_between(first, -first) == 180
    assert torch.tensor(angle_between(first, 0 * first)).isnan()
