"""What drawings of gradients, curves and estimators show."""

from types import SimpleNamespace

import pytest
import torch
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from test_drawings import (
    CODES,
    bowl,
    codebook_layer,
    goals,
    halve,
    jump,
    nearest_code,
    outputs,
)

from helpers.explore.explorer import explore
from helpers.functions import SURROGATES
from lessons.a_codebook.drawings import CodebookDrawing
from lessons.backward_needs_a_gradient.drawings import FieldDrawing, JacobianDrawing
from lessons.choices import ESTIMATORS, bias_and_spread, estimates, exact_gradient
from lessons.derivatives import derivatives
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.surrogate_gradients.drawings import SurrogateDrawing
from lessons.the_doctor.drawings import VerdictDrawing
from lessons.zero.drawings import LOWEST, ZERO_AT, SaturationDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp

# What each drawing shows is read from `moving`, in the order in which it is drawn.


def moving(drawing, kind, axes):
    """What moves in these axes, of this kind."""
    ax = drawing.figure.axes[axes]
    return [part for part in drawing.moving if isinstance(part, kind) and part.axes is ax]


def lines(drawing, axes):
    """The points of each line."""
    return [line.get_xydata().tolist() for line in moving(drawing, Line2D, axes)]


def heights(drawing, axes):
    return [bar.get_height() for bar in moving(drawing, Rectangle, axes)]


def test_jacobian_bars_are_the_weights_the_product_and_the_gradient():
    drawing = JacobianDrawing(outputs, torch.tensor([2.0, 3.0]))
    drawing.show(v1=1.0, v2=-2.0, v3=3.0)
    assert [bar.get_width() for bar in moving(drawing, Rectangle, 0)] == [1, -2, 3]
    assert heights(drawing, 3) == [-8, 5, -8, 5]
    (image,) = drawing.figure.axes[2].images
    assert image.get_array().tolist() == [[3, 2], [-8, 0], [-3, 3]]
    numbers = [text.get_text() for text in moving(drawing, Text, 2)]
    assert numbers == ["3", "2", "-8", "0", "-3", "3"]


def test_the_second_bar_is_what_backward_says_not_the_product():
    class Doubled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * grad_output.sign()  # not linear, so not any v @ J

    drawing = JacobianDrawing(Doubled.apply, torch.ones(2))
    assert drawing.show(v1=3.0, v2=1.0) == "v @ J = [6, 2], x.grad = [2, 2]"
    assert heights(drawing, 3) == [6, 2, 2, 2]


def test_field_arrows_point_down_the_weighted_sum():
    drawing = FieldDrawing(goals)
    drawing.show(v1=1.0, v2=0.0)
    arrows, v, _ = drawing.moving
    assert (v.U.item(), v.V.item()) == (1, 0)
    points = torch.tensor(arrows.XY, dtype=torch.float32)
    ways = torch.stack([torch.tensor(arrows.U), torch.tensor(arrows.V)], -1)
    to_goal = 1 - points
    cosine = torch.nn.functional.cosine_similarity(ways, to_goal)
    away = to_goal.norm(dim=1) > 1e-3
    assert torch.allclose(cosine[away], torch.ones(1))
    assert ways.norm(dim=1).max() < 1.001


def test_curvature_touches_its_curve():
    drawing = CurvatureDrawing(torch.exp)
    drawing.show(at=1.0)
    value, slope, curvature = (moving(drawing, Line2D, k) for k in range(3))
    curve, tangent, parabola, below, dot, vertex, *_ = value
    x = torch.tensor(curve.get_xdata())
    near = (x - 1).abs() < 0.1
    off = [torch.tensor(line.get_ydata()) - x.exp() for line in (parabola, tangent)]
    assert off[0][near].abs().max() < 0.001
    assert 0.01 < off[1][near].abs().max() < 0.02
    assert vertex.get_xydata()[0].tolist() == pytest.approx([0, torch.e / 2])
    for (curve, *_), right in zip(
        (value, slope, curvature), derivatives(torch.exp, x), strict=True
    ):
        assert torch.allclose(torch.tensor(curve.get_ydata()), right)
    for line, at in ((below, dot), slope[1:3], curvature[1:3]):
        assert at.get_xydata()[0].tolist() == pytest.approx([1, torch.e])
        assert line.get_xdata()[0] == 1


def test_curvature_marks_what_is_not_finite():
    explorer = explore(CurvatureDrawing(torch.sqrt, x=(0.0, 4.0), at=1.0), at=(0.0, 4.0, 0.5))
    words = [{*told(ax)} for ax in explorer.figure.axes]
    assert words == [set(), {"inf"}, {"-inf"}]


def test_a_surrogate_gradient_that_is_not_finite_is_marked(monkeypatch):
    surrogate = SimpleNamespace(function=lambda x, width: x.abs().sqrt())
    monkeypatch.setitem(SURROGATES, "root", surrogate)
    drawing = SurrogateDrawing()
    drawing.show(operator="sign", surrogate="root")
    assert told(drawing.figure.axes[1]) == ["NaN"]


def told(ax):
    """The words at the frame of these axes."""
    return [text.get_text() for text in ax.texts if text.get_visible()]


def test_a_verdict_stands_where_the_gradient_ends():
    """And it is the doctor's, beside bars of the gradient's size."""
    drawing = VerdictDrawing()
    drawing.show(activation="sigmoid", weights=0.0, step=0)
    ends = [bar.get_x() + bar.get_width() for bar in moving(drawing, Rectangle, 0)]
    assert ends[:4] == [1e-9] * 4 and min(ends[4:]) > 1e-3
    *statuses, words = [text for text in moving(drawing, Text, 0) if text.get_visible()]
    assert [text.get_text() for text in statuses] == ["ZERO (normal)"] * 4 + ["ok"] * 2
    assert "`last.weight` is 0" in words.get_text().replace("\n", " ")
    drawing.show(activation="relu", lr=10.0, step=0)
    assert not words.get_visible()


def test_descent_draws_each_path_and_where_it_ends():
    drawing = DescentDrawing(bowl, {"halving": halve, "jumping": jump})
    drawing.show(x1=4.0, x2=-2.0)
    halved, jumped, start, *ends = lines(drawing, 0)
    assert halved == [[4, -2], [2, -1], [1, -0.5], [0.5, -0.25]]
    assert (jumped, start) == ([[4, -2], [0, 0]], [[4, -2]])
    assert ends == [[[0.5, -0.25]], [[0, 0]]]
    assert [end.get_marker() for end in moving(drawing, Line2D, 0)[3:]] == ["", "v"]
    down, _ = lines(drawing, 1)
    assert [y for _, y in down] == pytest.approx([20, 5, 1.25, 0.3125])
    drawing.fit(drawing.ranges)
    low, high = drawing.figure.axes[1].get_xlim()
    assert low < 0 and high > 3


def test_two_kinds_of_marks_show_the_lowest_values_that_are_defined():
    plane = FieldDrawing(torch.sqrt).figure.axes[1]
    marks = [line for line in plane.lines if line.get_label().startswith("lowest")]
    places = [mark.get_xydata()[0][k] for k, mark in enumerate(marks)]
    assert places == pytest.approx([0, 0], abs=0.11)
    assert marks[0].get_marker() != marks[1].get_marker()  # not told apart by colour alone


SCALES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


def sizes_and_shares(drawing, activation, scale):
    """The sizes of the gradient and the shares of flat units, as drawn."""
    drawing.show(activation=activation, scale=scale)
    sizes, _, _, zeros = lines(drawing, 0)
    exact = [0.0 if [k, size] in zeros else size for k, size in sizes]
    return exact, [height / 100 for height in heights(drawing, 1)]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_larger_inputs_flatten_more_units_and_let_less_gradient_through(activation):
    drawing = SaturationDrawing()
    measured = [sizes_and_shares(drawing, activation, scale) for scale in SCALES]
    shares = [sum(flat) for _, flat in measured]
    assert shares == sorted(shares) and shares[0] < 0.1 and shares[-1] > 7
    firsts = [sizes[0] for sizes, _ in measured]
    assert firsts == sorted(firsts, reverse=True) and firsts[0] > 1e6 * firsts[-1] > 0
    sizes, _ = measured[-1]
    assert sizes == sorted(sizes), "it shrinks from layer to layer"


def test_each_size_of_gradient_has_its_marker():
    drawing = SaturationDrawing()
    drawing.show(activation="tanh", scale=100.0)
    layers = [[k for k, _ in line] for line in lines(drawing, 0)[1:]]
    assert layers == [[5, 6, 7, 8], [], [1, 2, 3, 4]]
    drawing.show(activation="sigmoid", scale=50.0)
    sizes, large, small, zeros = lines(drawing, 0)
    assert (large, small, zeros) == (sizes[2:], sizes[:2], [])
    low, high = drawing.figure.axes[0].get_ylim()
    heights = [size for _, size in sizes]
    assert low < ZERO_AT < heights[0] == heights[1] < LOWEST < max(heights) < high


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


@pytest.mark.parametrize("kind", ["a minimum", "a saddle point", "a maximum"])
def test_each_kind_of_point_has_its_marker(kind):
    signs = {"a minimum": (1, 1), "a saddle point": (1, -1), "a maximum": (-1, -1)}[kind]
    drawing = DescentDrawing(lambda x: (x**2) @ torch.tensor(signs).to(x), {"jumping": jump})
    assert kind in drawing.show(x1=1.0, x2=1.0)
    *_, end, _ = moving(drawing, Line2D, 0) + moving(drawing, Line2D, 1)
    marker = end.get_marker()
    drawn = {text.get_text(): line for text, line in legend_of(drawing)}
    assert drawn[kind].get_marker() == marker


def legend_of(drawing):
    (legend,) = drawing.figure.legends
    return zip(legend.get_texts(), legend.legend_handles, strict=True)


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


def test_estimators_show_their_errors_and_what_is_exact():
    drawing = EstimatorsDrawing()
    drawing.show(temperature=0.5, samples=100)
    dots_ax, error_ax = drawing.figure.axes
    exact, dots = dots_ax.lines
    assert exact.get_xdata()[0] == exact_gradient()[3, 0]
    places = dict(zip(ESTIMATORS, torch.as_tensor(dots.get_xdata()).reshape(6, 20), strict=True))
    for name in ("softmax", "straight-through"):
        answer = estimates(name, 0.5, samples=1)[0, 3, 0].clamp(-4, 8)
        torch.testing.assert_close(places[name], answer.expand(20))  # nothing random
    mean = estimates("Gumbel hard", 0.5, samples=20_000)[:100, 3, 0].mean()
    torch.testing.assert_close(places["Gumbel hard"][0], mean)
    bias, spread, error = (torch.as_tensor(line.get_xdata()) for line in error_ax.lines)
    assert (len(bias), len(spread), len(error)) == (4, 4, 6)  # none where it is 0
    expected = bias_and_spread(estimates("Gumbel hard", 0.5, samples=20_000))
    torch.testing.assert_close(error[3].item(), (expected[0] ** 2 + expected[1] ** 2 / 100) ** 0.5)


def test_a_codebook_draws_what_moves_z_and_its_code():
    drawing = CodebookDrawing(codebook_layer, CODES, (3.0, 1.5))
    drawing.show(z1=3.0, z2=1.0, beta=2.0)
    decoder, layer, *moved, z = lines(drawing, 0)
    assert decoder == [[3, 1], [2.5, 1.75]]  # halfway from code 1 to (3, 1.5)
    assert layer == [[3, 1], [4, 0]]  # beta = 2: all the way to code 1
    assert moved == [[], [[4, 0], [3.5, 0.5]], []]
    assert z == [[3, 1]]


def test_a_codebook_without_a_way_back_to_z_says_so():
    def chosen(z, codes, beta):
        return nearest_code(z, codes), z.new_zeros(())

    said = CodebookDrawing(chosen, CODES, (3.0, 1.5)).show(z1=3.0, z2=1.0)
    assert "the decoder moves z by (0, 0), the loss of the layer by (0, 0)" in said
    assert "code 1 moves by (-0.5, 0.75)" in said
