"""What figures draw, by the data of their artists, and their text alternatives."""

import io
import re

import pytest
import torch
from PIL import Image

from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers import functions
from helpers.curves.figures import CurveArtists, plot_gallery, plot_gradient_curve
from helpers.curves.numbers import gradient_curve
from helpers.explore import explore
from helpers.explore.drawings.curve import CurveDrawing
from helpers.functions import clamp, clamp_ste, round_ste
from lessons.gradients_of_gradients.drawings import DescentDrawing
from lessons.surrogate_gradients.operator_gallery import operators


@pytest.fixture
def artists():
    return CurveArtists(*Picture(8, 3).subplots(1, 2))


def with_gradient(fn):
    """0, with the gradient fn(x)."""
    return lambda x: fn(x).detach() * (x - x.detach())


def points(line):
    return list(zip(*map(list, line.get_data()), strict=True))


@pytest.mark.parametrize(
    "fn, full, hollow",
    [
        (torch.floor, [(-1, -1), (0, 0), (1, 1)], [(-1, -2), (0, -1), (1, 0)]),
        (torch.ceil, [(-1, -1), (0, 0), (1, 1)], [(-1, 0), (0, 1), (1, 2)]),
        (torch.sign, [(0, 0), (0, 0)], [(0, -1), (0, 1)]),
        (torch.abs, [], []),
    ],
)
def test_dots_at_a_jump_are_full_on_the_curve_and_hollow_beside_it(artists, fn, full, hollow):
    for draw, drawn in ((fn, "value"), (with_gradient(fn), "gradient")):
        artists.show(gradient_curve(draw, (-1.5, 1.5)))
        for kind, wanted in (("dots", full), ("rings", hollow)):
            found = points(getattr(artists, f"{drawn}_{kind}"))
            assert [(round(x, 9), y) for x, y in found] == wanted, (drawn, kind)


@pytest.mark.parametrize("bound_gradient", [0, 0.5, 1])
def test_the_full_dot_at_a_kink_is_the_gradient_there(artists, bound_gradient):
    artists.show(gradient_curve(lambda x: clamp(x, -1, 0.3, bound_gradient=bound_gradient)))
    assert set(points(artists.gradient_dots)) == {(-1, bound_gradient), (0.3, bound_gradient)}


def test_the_dashed_slope_has_no_stroke_at_a_kink(artists):
    artists.show(gradient_curve(torch.abs))
    slope = torch.as_tensor(artists.slope.get_data()[1])
    assert sorted(set(slope[~slope.isnan()].round(decimals=3).tolist())) == [-1, 1]


def test_lies_are_shaded_and_named_in_the_title(artists):
    artists.show(gradient_curve(round_ste))
    assert len(artists.mismatch.get_paths()) == 1
    assert artists.gradient_ax.get_title() == "gradient ≠ slope"
    artists.show(gradient_curve(torch.round))
    assert len(artists.mismatch.get_paths()) == 0
    assert artists.gradient_ax.get_title() == "gradient = slope"


def test_lies_are_shaded_where_they_are_and_the_dashed_line_is_scaled_as_the_gradient(artists):
    artists.show(gradient_curve(lambda x: clamp_ste(x, -1, 2), grad_output=3))
    shaded = [path.get_extents() for path in artists.mismatch.get_paths()]
    assert [(round(box.x0, 1), round(box.x1, 1)) for box in shaded] == [(-3, -1), (2, 3)]
    slope = torch.as_tensor(artists.slope.get_data()[1])
    assert sorted(set(slope[~slope.isnan()].round(decimals=3).tolist())) == [0, 3]


def test_limits_hold_all_curves_and_ignore_what_a_pole_reaches(artists):
    curves = [gradient_curve(torch.sin), gradient_curve(lambda x: 5 * torch.sin(x))]
    artists.fit(curves)
    low, high = artists.value_ax.get_ylim()
    assert -7 < low < -5 and 5 < high < 7
    artists.fit([gradient_curve(lambda x: 1 / x)])
    assert artists.value_ax.get_ylim()[1] < 1000


def test_a_figure_and_its_text():
    figure = plot_gradient_curve(round_ste, title="Straight through")
    data, metadata = figure._repr_mimebundle_()
    expected = "Straight through: value -3 to 3, gradient 1, slope 0; they differ from -3 to 3"
    assert data["text/plain"] == expected == metadata["image/png"]["alt"]
    assert metadata["image/png"]["width"] == 800


def test_the_picture_is_sharp_and_small():
    figure = plot_gradient_curve(torch.sin)
    figure.canvas.draw()
    png = figure.png()
    image = Image.open(io.BytesIO(png))
    assert image.size == (1600, 680)
    assert image.mode == "P"
    assert len(png) < 60_000


def test_a_curve_that_is_measured_already():
    curve = gradient_curve(torch.sin)
    assert plot_gradient_curve(curve).summary == f"curve: {curve.describe()}"
    with pytest.raises(TypeError, match="this curve is measured already: leave out min"):
        plot_gradient_curve(curve, min=1)


def test_gallery_shares_its_scales_and_says_what_each_shows():
    fns = {"sin": torch.sin, "five sin": lambda x: 5 * torch.sin(x), "round": torch.round}
    figure = plot_gallery(fns, columns=2)
    visible = [ax for ax in figure.axes if ax.get_visible()]
    assert len(visible) == 6
    assert len({ax.get_ylim() for ax in visible if ax.get_title()}) == 1
    assert [line.split(":")[0] for line in figure.summary.splitlines()] == list(fns)
    for wrong in ({}, [torch.sin]):
        with pytest.raises(ValueError, match="a dict of one or more titles and functions"):
            plot_gallery(wrong)
    with pytest.raises(ValueError, match="got .* and columns=0"):
        plot_gallery(fns, columns=0)


@pytest.mark.parametrize("count, columns", [(1, 4), (3, 4), (5, 2), (4, 1)])
def test_rows_of_a_gallery_are_named_after_what_is_drawn_in_them(count, columns):
    curves = [gradient_curve(lambda x, k=k: torch.sin(k * x)) for k in range(1, count + 1)]
    figure = plot_gallery({f"curve {i}": curve for i, curve in enumerate(curves)}, columns=columns)
    drawn = {}
    for ax in figure.axes:
        for line in ax.lines:
            y = torch.as_tensor(line.get_ydata())
            drawn[tuple(y[~y.isnan()].tolist())] = ax
    for i, curve in enumerate(curves):
        value_ax, gradient_ax = drawn[tuple(curve.y.tolist())], drawn[tuple(curve.grad.tolist())]
        assert value_ax.get_title() == f"curve {i}"
        assert value_ax.get_window_extent().y0 > gradient_ax.get_window_extent().y1
        leftmost, lowest = i % columns == 0, i + columns >= count
        for ax, name in ((value_ax, "value"), (gradient_ax, "gradient")):
            assert ax.get_ylabel() == (name if leftmost else "")
            assert ax.yaxis.get_tick_params()["labelleft"] == leftmost
        assert (value_ax.get_xlabel(), gradient_ax.get_xlabel()) == ("", "x" if lowest else "")
        assert gradient_ax.xaxis.get_tick_params()["labelbottom"] == lowest


def test_value_stands_left_and_gradient_and_slope_right():
    figure = plot_gradient_curve(lambda x: x + x.detach(), title="2 x, with the gradient of x")
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("value", "gradient ≠ slope")
    assert left.get_window_extent().x1 < right.get_window_extent().x0
    drawn = [(ax, line) for ax in figure.axes for line in ax.lines if len(line.get_xdata()) > 100]
    assert [ax for ax, _ in drawn] == [left, right, right]
    for (_, line), (label, colour, y) in zip(
        drawn,
        (
            ("value", VALUE_COLOUR, lambda x: 2 * x),
            ("autograd's gradient", GRADIENT_COLOUR, torch.ones_like),
            ("true slope", SLOPE_COLOUR, lambda x: torch.full_like(x, 2)),
        ),
        strict=True,
    ):
        assert (line.get_label(), line.get_color()) == (label, colour)
        x, shown = (torch.as_tensor(data)[:-1] for data in line.get_data())
        torch.testing.assert_close(shown, y(x))


def shifted(weight, by=0.0):
    return round_ste(weight - by)


def test_the_dashed_line_is_called_what_it_is():
    drawing = CurveDrawing(torch.relu, (-1, 1))
    for grad_output, expected in (
        (1.0, ["true slope", "gradient ≠ slope"]),
        (3.0, ["slope · grad_output", "they differ"]),
    ):
        drawing.show(grad_output=grad_output)
        alone = plot_gradient_curve(torch.relu, grad_output=grad_output)
        gallery = plot_gallery({"relu": torch.relu}, grad_output=grad_output)
        for figure in (drawing.figure, alone, gallery):
            names = [text.get_text() for text in figure.legends[0].get_texts()]
            assert names[-2:] == expected
        assert ("slope" in drawing.figure.axes[1].get_title()) == (grad_output == 1)


DOLLARS = r"$\costs$ 5"  # matplotlib takes it for a formula, and refuses it


def costs(x, currency=DOLLARS):
    return 5 * x


@pytest.mark.slow
@pytest.mark.parametrize(
    "show",
    [
        lambda: explore(costs, currency=[DOLLARS, "€"]),
        lambda: explore({DOLLARS: torch.sin, "cos": torch.cos}),
        lambda: explore(
            DescentDrawing(lambda x: (x**2).sum(-1), {DOLLARS: lambda fn, x: x[None]}),
            x1=(0.0, 1.0),
        ),
        lambda: plot_gallery({DOLLARS: torch.sin}, title=DOLLARS),
        lambda: plot_gradient_curve(costs, currency=DOLLARS),
    ],
)
def test_words_of_the_user_are_no_formula(show):
    data, _ = show()._repr_mimebundle_()
    assert DOLLARS in data["text/plain"]


def test_the_gallery_shows_every_operator():
    names = {label.partition("(")[0] for label in operators()}
    words = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name.replace("LSQ", "Lsq_q")) for name in names}
    public = {name for name in functions.__all__ if name[0].islower()}
    others = {"apply_anywhere", "argmax_ste", "reverse_gradient", "value_with_gradient_of"}
    assert public - {word.lower() for word in words} == others
    steps = [label for label in operators() if label.startswith("Step(")]
    assert len(steps) == len(functions.SURROGATES)
