"""What drawings of lessons show beside drawings.toml: what is refused, undefined or far away."""

from types import SimpleNamespace

import pytest
import torch
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from test_drawings import CODES, bowl, goals, jump, nearest_code, outputs, small_gradients

from autograd_surprises.show.picture import Picture
from helpers.explore.explorer import explore
from helpers.functions import SURROGATES
from lessons.a_codebook.drawings import CodebookDrawing
from lessons.backward_needs_a_gradient.drawings import FieldDrawing, JacobianDrawing
from lessons.clipping_and_half_precision.drawings import HalfPrecisionDrawing
from lessons.drawings.arrow import Arrow, angle_between
from lessons.drawings.tangent import TangentDrawing
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.right_value_wrong_gradient.kl_terms import KLTermsDrawing
from lessons.surrogate_gradients.drawings import SurrogateDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp

# What each drawing shows is read from `moving`, in the order in which it is drawn.


def moving(drawing, kind, axes):
    """What moves in these axes, of this kind."""
    ax = drawing.figure.axes[axes]
    return [part for part in drawing.moving if isinstance(part, kind) and part.axes is ax]


def test_the_second_bar_is_what_backward_says_not_the_product():
    def hooked(x):
        y = x.clone()
        if y.requires_grad:  # else it is asked for its shape alone
            y.register_hook(lambda g: 2 * g.sign())
        return y

    drawing = JacobianDrawing(hooked, torch.ones(2))
    assert drawing.show(v1=3.0, v2=1.0) == "v @ J = [6, 2], x.grad = [2, 2]"
    assert [bar.get_height() for bar in moving(drawing, Rectangle, 3)] == [6, 2, 2, 2]


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
        (lambda: JacobianDrawing(torch.log, torch.zeros(2)), ValueError, "x = .* not finite"),
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


def test_a_codebook_without_a_way_back_to_z_says_so():
    def chosen(z, codes, beta):
        return nearest_code(z, codes), z.new_zeros(())

    said = CodebookDrawing(chosen, CODES, (3.0, 1.5)).show(z1=3.0, z2=1.0)
    assert "the decoder moves z by (0, 0), the loss of the layer by (0, 0)" in said
    assert "code 1 moves by (-0.5, 0.75)" in said


def test_where_only_y_does_not_move_the_arrows_are_tangents():
    flat = TangentDrawing({"x²": torch.square, "x · x": lambda x: x * x})
    flat.show(at=0.0)
    assert flat.moving[-1].get_text() == "both arrows are tangent to the curve"


def test_an_arrow_ends_at_its_point_and_a_short_one_has_a_short_head():
    ax = Picture(4, 3).subplots(subplot_kw={"xlim": (-2, 2), "ylim": (-2, 2)})
    arrow = Arrow(ax, "black")
    for tip in ((1.0, 0.0), (0.0, -0.5), (1e-3, 0.0)):
        arrow.point_to(tip)
        assert (arrow.line.get_xdata()[1], arrow.line.get_ydata()[1]) == tip
        head = torch.tensor(arrow.artists[1].get_xydata())
        assert tuple(head[1].tolist()) == tip
        length = torch.tensor(tip, dtype=torch.float64).norm().item()
        assert ((head[[0, 2]] - head[1]).norm(dim=1) <= length + 1e-12).all()


def test_angles_are_exact_where_a_cosine_is_rounded():
    first = torch.tensor([1.0, 0.0], dtype=torch.float64)
    turned = torch.tensor([1.0, 1e-9], dtype=torch.float64)
    assert angle_between(first, turned) == pytest.approx(1e-9 * 180 / torch.pi)
    assert angle_between(first, -first) == 180
    assert torch.tensor(angle_between(first, 0 * first)).isnan()


def test_0_and_100_percent_mean_none_and_all():
    one_loses_digits = torch.cat([torch.ones(999), torch.tensor([2.0**-20])])
    said = HalfPrecisionDrawing(one_loses_digits).show(dtype="float16", power=0)
    assert said.endswith("0 % become 0, under 1 % lose digits, over 99 % survive, 0 % become inf")


def test_the_dark_zones_hold_what_becomes_0_and_inf():
    drawing = HalfPrecisionDrawing(small_gradients())
    drawing.show(dtype="float16", power=0)
    smallest, normal, largest = -25, -14, 16
    (low, *_), (left, _, width, _), (right, *_) = (z.get_bbox().bounds for z in drawing.moving[:3])
    assert (left, left + width) == (smallest, normal) and low < smallest
    assert right == pytest.approx(largest, abs=1e-3)
    assert torch.tensor(2.0**smallest).half() == 0 < torch.tensor(2.0**smallest * 1.01).half()
    assert [name.get_visible() for name in moving(drawing, Text, 0)] == [True] * 3
    drawing.show(dtype="bfloat16", power=0)
    assert [name.get_visible() for name in moving(drawing, Text, 0)] == [False] * 3


def test_arrows_of_kl_terms_are_their_mean_gradients_and_a_wrong_sign_is_dashed():
    policy, reference = torch.tensor([1.5, -0.25, -2.0, 0.5]), torch.tensor([-1.0, -1.5, 0.5, 1.0])
    drawing = KLTermsDrawing(policy, reference)
    drawing.show()
    p, q = (logits.double().softmax(-1) for logits in (policy, reference))
    kl = (p * (p / q).log()).sum()
    right = p * ((p / q).log() - kl)
    expected = [right, torch.zeros(4).double(), right, p - q]  # of KL, k1, k2 and k3
    dashed = []
    for ax, gradient in zip(drawing.figure.axes[1:], expected, strict=True):
        shafts = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_lw() > 1]
        shafts = [line for line in shafts if line.get_ydata()[1] == line.get_ydata()[1]]
        shafts.sort(key=lambda line: line.get_ydata()[1])
        tips = torch.tensor([line.get_xdata()[1] for line in shafts])
        torch.testing.assert_close(tips.double(), gradient, atol=1e-6, rtol=0)
        dashed += [ax.get_title() for line in shafts if line.is_dashed()]
    assert dashed == ["k3"]
    drawing.show(distance=0.15, logit_0=2.9)  # k3 of the last option: 0.002, too short to see
    numbers = [text.get_text() for text in moving(drawing, Text, 4)]
    assert numbers[3] == "0" and not any("✗" in number for number in numbers)
