"""What the drawings show, and whether it follows the sliders."""

import math
import re
from functools import cache
from itertools import combinations, cycle
from types import SimpleNamespace

import pytest
import torch
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from read_strokes import read_strokes

from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.picture import Picture
from helpers.explore.controls import positions
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from helpers.explore.explorer import explore
from helpers.explore.player import Playable
from helpers.functions import SURROGATES
from lessons.a_codebook.drawings import CodebookDrawing, DeadCodesDrawing
from lessons.backward_needs_a_gradient.drawings import FieldDrawing, JacobianDrawing
from lessons.checkpoints_and_freezing.drawings import CheckpointsDrawing
from lessons.choices import ESTIMATORS, bias_and_spread, estimates, exact_gradient
from lessons.clipping_and_half_precision.drawings import ClippingDrawing, HalfPrecisionDrawing
from lessons.custom_operators.operator_checks import FAKES, WRITES, OperatorChecksDrawing
from lessons.custom_operators.operator_support import MEASURED, NEEDS, SupportDrawing
from lessons.custom_operators.traced_nodes import TracedNodesDrawing
from lessons.derivatives import derivatives
from lessons.drawings.arrow import Arrow, angle_between
from lessons.drawings.tangent import TangentDrawing
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.hooks.drawings import ImageMapsDrawing
from lessons.one_batch_in_pieces.drawings import DIVISORS, AccumulationDrawing
from lessons.right_value_wrong_gradient.answers_of_a_group import LENGTHS, GroupDrawing
from lessons.right_value_wrong_gradient.kl_terms import KLTermsDrawing
from lessons.right_value_wrong_gradient.ratio_clip import RatioClipDrawing
from lessons.several_processes.drawings import SHARE_DIVISORS, SharesDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.surrogate_gradients.drawings import StaircaseDrawing, SurrogateDrawing
from lessons.the_doctor.drawings import VerdictDrawing
from lessons.three_patches.drawings import SharperMixtureDrawing
from lessons.which_gradient_a_choice_passes_on.drawings import CHOICES, WORTH, ChoiceDrawing
from lessons.zero.drawings import LOWEST, ZERO_AT, SaturationDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp


def outputs(x):
    return torch.stack([x[0] * x[1], x[0] ** 2, x[1] - x[0]])


def goals(x):
    return torch.stack([(x - 1).pow(2).sum(-1), (x + 1).pow(2).sum(-1)], -1)


def wave(x, width=1.5):
    return torch.sin(x / width)


def bowl(x):
    return (x**2).sum(-1)


def halve(fn, start):
    return torch.stack([start / 2**k for k in range(4)])


def jump(fn, start):
    return torch.stack([start, torch.zeros(2)])


def nearest_code(z, codes):
    return codes[torch.cdist(z, codes).argmin(1)]


def codebook_layer(z, codes, beta):
    q = nearest_code(z, codes)
    codebook_loss, commitment_loss = (q - z.detach()) ** 2, (z - q.detach()) ** 2
    return z + (q - z).detach(), (codebook_loss + beta * commitment_loss).mean()


CODES = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0]])


def small_gradients():
    """Of all powers of two from 2**-40 to 1."""
    return 2.0 ** torch.arange(-40.0, 1.0, dtype=torch.float64)


def image_maps():
    images = torch.eye(6)[:4, :, None] * torch.ones(6)
    maps = torch.arange(4 * 5 * 36).remainder(37).reshape(4, 5, 6, 6).float()
    return ImageMapsDrawing(images, {"one map": maps, "another map": -maps})


class SoftChoice(ChoiceDrawing):
    """Each control moves something from the beginning."""

    def show(self, choose="softmax", score_0=0.2, sharpness=1):
        return super().show(choose, score_0, sharpness)


def sharper_mixture():
    """One network likes a mixture, the other one a choice."""
    networks = {"the first": 1.0, "the second": -1.0}
    return SharperMixtureDrawing(
        torch.randn(3, 16, generator=torch.Generator().manual_seed(0)),
        networks,
        lambda network, weights: 50 + 20 * network * (1 - 2 * weights.max().item()),
    )


MADE = {
    "curve": (lambda: CurveDrawing(wave, (-3, 3)), {"width": (1.0, 3.0, 0.5)}),
    "point": (lambda: PointDrawing(wave, (-3, 3), 1.0), {"point": (-3.0, 3.0, 0.5)}),
    "side by side": (
        lambda: SideBySideDrawing({"wave": wave, "relu": torch.relu}, (-3, 3)),
        {"width": (1.0, 3.0, 0.5)},
    ),
    "jacobian": (
        lambda: JacobianDrawing(outputs, torch.tensor([2.0, 3.0])),
        {"v1": (-1.0, 1.0, 0.5), "v2": (-1.0, 1.0, 0.5), "v3": (-1.0, 2.0, 0.5)},
    ),
    "field": (lambda: FieldDrawing(goals), {"v1": (-1.0, 1.0, 0.5), "v2": (-1.0, 1.0, 0.5)}),
    "curvature": (
        lambda: CurvatureDrawing(wave),
        {"at": (-3.0, 3.0, 0.5), "width": (1.0, 3.0, 0.5)},
    ),
    "descent": (
        lambda: DescentDrawing(bowl, {"halving": halve, "jumping": jump}),
        {"x1": (-5.0, 5.0, 0.5), "x2": (-5.0, 5.0, 0.5), "steps": Playable(0, 3)},
    ),
    "estimators": (
        EstimatorsDrawing,
        {"temperature": (0.25, 2.0, 0.25), "samples": (1, 1000, 9)},
    ),
    "codebook": (
        lambda: CodebookDrawing(codebook_layer, CODES, (3.0, 1.5)),
        {"z1": (0.25, 2.75, 0.5), "z2": (-0.5, 0.5, 0.25), "beta": (0.25, 4.0, 0.25)},
    ),
    "accumulation": (
        AccumulationDrawing,
        {"batch_1": (1, 32, 1), "batch_2": (2, 32, 1), "divide_by": list(DIVISORS)},
    ),
    "shares": (
        SharesDrawing,
        {"process_0": (1, 8), "process_1": (2, 8), "divide_by": list(SHARE_DIVISORS)},
    ),
    "choice": (
        SoftChoice,
        {"choose": [*CHOICES], "score_0": (-2.0, 3.0, 0.5), "sharpness": (1, 20)},
    ),
    "mixture": (sharper_mixture, {"sharpness": [20, 1]}),
    "tangent": (
        lambda: TangentDrawing({"x²": torch.square, "as it arrives": Passing.apply}),
        {"at": (-1.5, 1.5, 0.5), "tangent": (-1.0, 1.0, 0.5)},
    ),
    "operator checks": (
        OperatorChecksDrawing,
        {"factor": (0.0, 4.0, 0.5), "fake": list(FAKES), "writes": list(WRITES)},
    ),
    "operator support": (SupportDrawing, {"torch": list(MEASURED), "need": list(NEEDS.values())}),
    "traced nodes": (TracedNodesDrawing, {"multiplications": [6, 1]}),
    "checkpoints": (
        lambda: CheckpointsDrawing([torch.nn.Linear(4, 4) for _ in range(4)], torch.ones(50, 4)),
        {"blocks_each": [4, 1]},
    ),
    "dead codes": (DeadCodesDrawing, {"spread": (0.25, 1.5, 0.25), "steps": (0, 30)}),
    "clipping": (
        ClippingDrawing,
        {
            "g1": (-5.0, 5.0, 0.25),
            "g2": (-4.0, 5.0, 0.25),
            "limit": (0.5, 5.0, 0.25),
            "by": ["norm", "value"],
        },
    ),
    "half precision": (
        lambda: HalfPrecisionDrawing(small_gradients()),
        {"power": (0, 32, 1), "dtype": ["float16", "bfloat16"]},
    ),
    "saturation": (
        SaturationDrawing,
        {"scale": (0.5, 100.0, 0.5), "activation": ["tanh", "sigmoid", "relu"]},
    ),
    "surrogate": (
        SurrogateDrawing,
        {
            "width": (0.25, 3.0, 0.25),
            "operator": ["step", "sign", "round"],
            "surrogate": [*SURROGATES],
        },
    ),
    "image maps": (image_maps, {"image": (0, 3), "asked": (0, 4)}),
    "verdict": (
        VerdictDrawing,
        {
            "step": Playable(0, 10),
            "lr": [1.0, 10.0],
            "activation": ["tanh", "relu", "sigmoid"],
            "weights": [0.0, 1.0, 1e20],
        },
    ),
    "stairs": (
        StaircaseDrawing,
        {
            "start": (-3.75, 5.75, 0.25),
            "width": (0.75, 6.0, 0.25),
            "steps": Playable(0, 40),
            "gradient": ["triangle", "default"],
        },
    ),
}


class Passing(torch.autograd.Function):
    """x², and its jvp passes the tangent on."""

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 1


@cache
def shared(name):
    """The explorer of a drawing, and the values at which it starts."""
    make, sliders = MADE[name]
    explorer = explore(make(), **sliders)
    assert explorer.shown == explorer.values, "the controls start at other values than the picture"
    return explorer, explorer.values


@pytest.fixture(params=MADE)
def explorer(request):
    explorer, start = shared(request.param)
    explorer.set(**start)
    return explorer


def at_ends(explorer, *ends):
    """The values of its controls at their first (0) and last (-1) places, in turn."""
    places = zip(explorer.sliders.items(), cycle(ends), strict=False)
    return {name: positions(control)[end] for (name, control), end in places}


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
    said = drawing.show(v1=1.0, v2=-2.0, v3=3.0)
    assert said == "v @ J = [-8, 5], x.grad = [-8, 5]"
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
    assert drawing.show(v1=1.0, v2=-1.0) == "at x = [0, 0], x.grad = [-4, -4]"


def test_curvature_touches_its_curve():
    drawing = CurvatureDrawing(torch.exp)
    assert drawing.show(at=1.0) == "value 2.718, slope 2.718, curvature 2.718"
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
    assert drawing.show(activation="sigmoid", weights=0.0, step=0).startswith(
        "loss 2.303: ZERO (normal) first.weight, first.bias, second.weight, second.bias: "
    )
    ends = [bar.get_x() + bar.get_width() for bar in moving(drawing, Rectangle, 0)]
    assert ends[:4] == [1e-9] * 4 and min(ends[4:]) > 1e-3
    *statuses, words = [text for text in moving(drawing, Text, 0) if text.get_visible()]
    assert [text.get_text() for text in statuses] == ["ZERO (normal)"] * 4 + ["ok"] * 2
    assert "`last.weight` is 0" in words.get_text().replace("\n", " ")
    drawing.show(activation="relu", lr=10.0, step=0)
    assert not words.get_visible()
    assert "last.bias" not in drawing.show(activation="relu", lr=10.0)


def test_descent_draws_each_path_and_says_where_it_ends():
    drawing = DescentDrawing(bowl, {"halving": halve, "jumping": jump})
    assert drawing.show(x1=4.0, x2=-2.0) == (
        "halving: 3 steps to (0.5, -0.25), still moving; jumping: 1 steps to (0, 0), a minimum"
    )
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


def test_descent_is_shown_up_to_a_step():
    drawing = DescentDrawing(bowl, {"halving": halve, "jumping": jump})
    assert drawing.show(x1=4.0, x2=-2.0, steps=2) == (
        "halving: 2 steps to (1, -0.5), still moving; jumping: 1 steps to (0, 0), a minimum"
    )
    halved, _, _, end, _ = lines(drawing, 0)
    assert (halved, end) == ([[4, -2], [2, -1], [1, -0.5]], [[1, -0.5]])
    assert [y for _, y in lines(drawing, 1)[0]] == pytest.approx([20, 5, 1.25])
    assert drawing.show(x1=4.0, x2=-2.0, steps=3) == drawing.show(x1=4.0, x2=-2.0)


def test_the_ball_is_shown_after_a_step():
    drawing = StaircaseDrawing()
    whole = drawing.show()
    (path,) = lines(drawing, 1)
    for steps, said in ((0, "at 4.5 after 0 steps"), (1, "at 4.17 after 1 step")):
        assert drawing.show(steps=steps) == said
        assert lines(drawing, 1) == [path[: steps + 1]]
        seen, end, start = ([x for x, _ in line] for line in lines(drawing, 0))
        assert (seen, end, start) == ([x for _, x in path[: steps + 1]], [path[steps][1]], [4.5])
    assert drawing.show(steps=40) == whole == "reaches the bottom in 7 steps, and rests at -0.88"


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


def network():
    """The weights, the inputs and the upstream gradient that the drawing has."""
    generator = torch.Generator().manual_seed(0)
    shapes = (8, 16, 16), (8, 4, 16), (4, 16)
    weights, inputs, upstream = (torch.randn(shape, generator=generator) for shape in shapes)
    return weights / 4, inputs, upstream


def test_sizes_of_gradients_are_those_of_finite_differences():
    weights, inputs, upstream = (each.double() for each in network())

    def loss(first):
        hidden = first
        for weight, more in zip(weights[1:], inputs[1:], strict=True):
            hidden = torch.tanh(hidden) @ weight + more
        return (torch.tanh(hidden) * upstream).sum()

    steps = 1e-6 * torch.eye(64, dtype=torch.float64).reshape(-1, 4, 16)
    slopes = torch.stack([loss(inputs[0] + h) - loss(inputs[0] - h) for h in steps]) / 2e-6
    sizes, _ = sizes_and_shares(SaturationDrawing(), "tanh", 1.0)
    expected = (slopes.abs().mean() / upstream.abs().mean()).item()
    assert sizes[0] == pytest.approx(expected, rel=1e-4)


def test_each_size_of_gradient_has_its_marker():
    drawing = SaturationDrawing()
    said = drawing.show(activation="tanh", scale=100.0)
    assert "the gradient is exactly 0 from layer 4 down to layer 1; 97 % of" in said
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


def test_each_method_has_a_start_of_its_own():
    def walk_in_place(fn, start):
        start -= 1
        return start[None]

    drawing = DescentDrawing(bowl, {"in place": walk_in_place, "stays": lambda fn, x: x[None]})
    assert "stays: 0 steps to (5, 5)" in drawing.show(x1=5.0, x2=5.0)


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
    said = drawing.show(temperature=0.5, samples=100)
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
    assert f"{error[3]:.2g} Gumbel hard" in said
    assert said.endswith(list(ESTIMATORS)[error.argmin()])


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


# ------------------------------------------------------- accumulation, clipping, half precision


def two_batches(n1, n2, loss_of):
    """What backward adds up for n1 tokens (1, 0) and n2 tokens (0, 1); loss_of(losses, k)."""
    weight = torch.zeros(2, requires_grad=True)
    for k, tokens in enumerate(
        torch.eye(2).repeat_interleave(torch.tensor([n1, n2]), 0).split([n1, n2])
    ):
        loss_of((tokens @ weight + 1) ** 2, k).backward()
    return weight.grad


@pytest.mark.parametrize("lengths", [(1, 3), (8, 8), (32, 5)])
@pytest.mark.parametrize(
    ("divide_by", "loss_of"),
    [
        ("nothing", lambda losses, k, total: losses.mean()),
        ("number of batches", lambda losses, k, total: losses.mean() / 2),
        ("batches so far", lambda losses, k, total: losses.mean() / (k + 1)),
        ("number of tokens", lambda losses, k, total: losses.sum() / total),
    ],
)
def test_the_accumulated_gradient_is_what_backward_adds_up(lengths, divide_by, loss_of):
    assert divide_by in DIVISORS and len(DIVISORS) == 4
    total = sum(lengths)
    accumulated = two_batches(*lengths, lambda losses, k: loss_of(losses, k, total))
    true = two_batches(*lengths, lambda losses, k: losses.sum() / total)
    drawing = AccumulationDrawing()
    said = drawing.show(*lengths, divide_by)
    found, _, expected, _ = lines(drawing, 0)  # each arrow has a shaft and a head
    assert [*found[1], *expected[1]] == pytest.approx([*accumulated.tolist(), *true.tolist()])
    assert f"{angle_between(accumulated, true):.0f}° off, " in said
    (words,) = [text.get_text() for text in moving(drawing, Text, 0)]
    ratio = float(accumulated.norm() / true.norm())
    if said.startswith("0°"):
        assert words == "the true gradient" if ratio == 1 else f" {ratio:g} ×" in words
    else:
        assert words in said
    tops = [float(bar.get_y() + bar.get_height()) for bar in moving(drawing, Rectangle, 1)]
    counts = (accumulated / true).tolist()
    assert tops == pytest.approx(counts)
    numbers = [float(text.get_text()) for text in moving(drawing, Text, 1)]
    assert numbers == pytest.approx(counts, rel=0.05)


def test_no_number_of_tokens_stands_on_the_dashed_line():
    drawing = AccumulationDrawing()
    for divide_by in DIVISORS:
        for batch_2 in (1, 2, 4, 6, 7, 8, 9, 10, 12, 16, 24, 32):
            drawing.show(8, batch_2, divide_by)
            renderer = drawing.figure.canvas.get_renderer()
            for number in moving(drawing, Text, 1):
                box = number.get_window_extent(renderer).transformed(
                    number.axes.transData.inverted()
                )
                assert not box.y0 < 1 < box.y1, (divide_by, batch_2, number.get_text())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"g1": 3.0, "g2": 4.0, "limit": 5.0}, "(3, 4) is inside the limit and stays"),
        ({"g1": 3.0, "g2": 4.0, "limit": 2.5}, "becomes (1.5, 2): the length goes from 5 to 2.5, "
         "the direction stays"),
        ({"g1": 3.0, "g2": 4.0, "by": "value"}, "becomes (1, 1): the length goes from 5 to 1.41, "
         "the direction turns by 8°"),
        ({"g1": 4.0, "g2": -4.0, "by": "value"}, "(4, -4) becomes (1, -1): the length goes from "
         "5.66 to 1.41, the direction stays"),
        ({"g1": 0, "g2": 0}, "(0, 0) is inside the limit and stays"),
    ],
)  # fmt: skip
def test_clipping_says_what_it_does_to_length_and_direction(settings, said):
    assert said in ClippingDrawing().show(**settings)


def test_the_limit_is_a_circle_or_a_square():
    drawing = ClippingDrawing()
    circle, square, before, _, after, _, dot, says = drawing.moving
    drawing.show(by="norm", limit=2.0)
    assert circle.get_radius() == 2 and math.isnan(square.get_width())
    drawing.show(by="value", limit=2.0)
    assert math.isnan(circle.get_radius()) and square.get_bbox().bounds == (-2, -2, 4, 4)
    drawing.show(g1=3.0, g2=4.0, by="value", limit=2.0)
    tips = [line.get_xydata()[-1].tolist() for line in (before, after, dot)]
    assert tips == [[3, 4], [2, 2], [3, 4]]
    assert says.get_text() == "turned by 8°"
    drawing.show(g1=3.0, g2=4.0, by="norm", limit=2.0)
    assert says.get_text() == ""


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


def shares(said):
    return [int(number) for number in re.findall(r"(\d+) %", said)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("power", [0, 10, 20, 32])
def test_what_survives_is_what_torch_rounds(dtype, power):
    gradient, kind = small_gradients() * 1.3, getattr(torch, dtype)
    kept = (gradient * 2.0**power).to(kind).double()
    off = (kept / (gradient * 2.0**power) - 1).abs()
    zero, infinite = kept == 0, kept.isinf()
    # a number with all its digits is off by half of eps at most
    survive = ~zero & ~infinite & (kept >= torch.finfo(kind).smallest_normal)
    assert (off[survive] <= torch.finfo(kind).eps / 2).all()
    drawing = HalfPrecisionDrawing(gradient)
    found = shares(drawing.show(dtype=dtype, power=power))
    lost = ~(zero | infinite | survive)
    parts = (zero, lost, survive, infinite)
    assert found == [round(100 * part.double().mean().item()) for part in parts]


def test_0_and_100_percent_mean_none_and_all():
    one_loses_digits = torch.cat([torch.ones(999), torch.tensor([2.0**-20])])
    said = HalfPrecisionDrawing(one_loses_digits).show(dtype="float16", power=0)
    assert said.endswith("0 % become 0, under 1 % lose digits, over 99 % survive, 0 % become inf")
    said = HalfPrecisionDrawing(torch.ones(1000)).show(dtype="float16", power=0)
    assert said.endswith("0 % become 0, 0 % lose digits, 100 % survive, 0 % become inf")


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


# ---- Images and their maps


def test_a_map_is_drawn_relative_to_its_strongest_pixel():
    maps = torch.tensor([[[[-4.0, 1.0], [0.0, 2.0]], [[8.0, -1.0], [4.0, 0.0]]]])
    drawing = ImageMapsDrawing(torch.eye(2)[None], {"the map": maps})
    for asked, cells, strongest in (
        (0, [[0, 0.5], [0, 1]], (1, 1)),
        (1, [[1, 0], [0.5, 0]], (0, 0)),
    ):
        said = drawing.show(asked=asked)
        _, shown, mark, word = drawing.moving
        assert shown.get_array().tolist() == cells and word.get_text() == ""
        assert [each[0] for each in mark.get_data()] == [strongest[1], strongest[0]]
        row, column = strongest[0] + 1, strongest[1] + 1
        assert said.endswith(
            f"asked for a {asked}: strongest in the map at row {row}, column {column}"
        )


@pytest.mark.parametrize(("n0", "n1"), [(1, 3), (3, 3), (8, 1)])
def test_shares_show_the_gradients_that_two_processes_have(n0, n1):
    """Of (weight · x − 3)² at weight 0, it is −6 x: −6 for process 0, −12 for process 1."""
    every = (-6 * n0 - 12 * n1) / (n0 + n1)
    drawing = SharesDrawing()
    drawing.show(process_0=n0, process_1=n1)
    assert [bar.get_width() for bar in drawing.moving[:3]] == [-6, -12, -9]
    assert drawing.moving[3].get_xdata()[0] == pytest.approx(every)
    words = drawing.moving[-1].get_text()
    assert ("the gradient of all samples" in words) == (n0 == n1)

    drawing.show(process_0=n0, process_1=n1, divide_by="samples everywhere / processes")
    assert drawing.moving[2].get_width() == pytest.approx(every)
    assert "the gradient of all samples" in drawing.moving[-1].get_text()


def test_a_choice_has_no_gradient_a_flat_one_or_that_of_softmax():
    drawing, said = ChoiceDrawing(), {}
    for choose in CHOICES:
        said[choose] = drawing.show(choose=choose)
        bars = torch.tensor([bar.get_width() for bar in drawing.moving[4:8]])
        scores = torch.tensor([0.2, 1.5, -0.4, 1.0])
        p, worth = scores.softmax(-1), torch.tensor(WORTH)
        of_softmax = p * (worth - p @ worth)
        wanted = of_softmax if choose in ("softmax", "straight-through") else torch.zeros(4)
        assert torch.allclose(bars, wanted, atol=1e-5), choose
    assert "no graph" in said["argmax"] and "flat" in said["rounding"]
    assert "nearly flat" in drawing.show(choose="softmax", sharpness=20)
    assert "value 5" in said["straight-through"] and "value 3.761" in said["softmax"]


def test_a_sharper_mixture_reads_each_network_at_its_place():
    drawing = sharper_mixture()
    cells, first, second, says = drawing.moving
    for sharpness in (1, 20):
        drawing.show(sharpness=sharpness)
        assert first.get_xdata()[0] == second.get_xdata()[0] == sharpness
        numbers = [round(dots.get_ydata()[0]) for dots in (first, second)]
        assert says.get_text() == (
            f"at {sharpness}: the first {numbers[0]} %, the second {numbers[1]} %"
        )
        assert 1.5 < cells.get_array().sum() <= 3
    assert second.get_ydata()[0] > first.get_ydata()[0]


def test_the_checks_of_an_operator_find_what_each_is_for():
    drawing = OperatorChecksDrawing()
    line, *verdicts = drawing.moving

    def marks():
        return "".join(text.get_text()[0] for text in verdicts)

    assert drawing.show() and marks() == "✓✓✓✓✓"
    assert "gradient is 4x" in drawing.show(factor=4.0) and marks() == "✓✓✓✓✗"
    assert line.get_ydata()[-1] == 8  # 4x at x = 2
    assert drawing.show(fake="another dtype") and marks() == "✓✓✗✓✓"
    assert drawing.show(writes="its input") and marks() == "✗✓✓✓✗"
    assert {text.get_color() for text in verdicts[1:4]} == {GREEN}
    assert verdicts[0].get_color() == verdicts[4].get_color() == RED


def test_an_operator_stays_one_box_and_a_function_does_not():
    drawing = TracedNodesDrawing()
    for times in (6, 1, 4):
        says = drawing.show(multiplications=times)
        forward = ["mul"] * times
        assert says == (
            f"Function: {', '.join(forward)}, then pow, mul, mul; "
            "operator: power, then pow, mul, mul"
        )
        shown = [t.get_text() for t in drawing.figure.axes[0].texts if t.get_text()]
        assert shown[: times + 4] == [*forward, "pow", "mul", "mul", "power"]
        boxes = [box for box in drawing.figure.axes[0].patches if box.get_visible()]
        assert len(boxes) == times + 3 + 4
        counts = [f"forward {times}, backward 3", "forward 1, backward 3"]
        assert shown[-2:] == counts


def test_the_picture_of_the_ways_shows_what_was_measured():
    drawing = SupportDrawing()
    band, *marks = drawing.moving
    for version, measured in MEASURED.items():
        for row, (need, words) in enumerate(NEEDS.items()):
            drawing.show(torch=version, need=words)
            assert band.get_y() < row < band.get_y() + band.get_height()
            for column, card in enumerate(measured["cards"].values()):
                (mark,) = (m for m in marks if m.get_position() == (column, row))
                sign = {"works": "✓", "refused": "–", "silently wrong": "✗"}[card[need]]
                assert mark.get_text().startswith(sign)


def test_tangents_end_where_the_two_jvps_say():
    drawing = TangentDrawing({"x²": torch.square, "as it arrives": Passing.apply})
    right, _, other, _, dot, says = drawing.moving
    drawing.show(at=1.5, tangent=-0.5)
    assert dot.get_xydata().tolist() == [[1.5, 2.25]]
    assert right.get_xydata()[-1].tolist() == [1.0, 0.75]  # 2.25 - 0.5 · 3
    assert other.get_xydata()[-1].tolist() == [1.0, 1.75]
    assert says.get_text() == "as it arrives is not tangent to the curve"
    drawing.show(at=0.0, tangent=1.0)  # its tip is on the curve, but it is no tangent
    assert other.get_xydata()[-1].tolist() == [1.0, 1.0]
    assert says.get_text() == "as it arrives is not tangent to the curve"
    drawing.show(at=0.5, tangent=1.0)
    assert says.get_text() == "both arrows are tangent to the curve"
    drawing.show(at=1.5, tangent=0.0)
    assert says.get_text() == "x does not move"


def test_one_checkpoint_around_all_blocks_keeps_no_less_at_once():
    blocks = [torch.nn.Linear(4, 4) for _ in range(4)]
    drawing = CheckpointsDrawing(blocks, torch.ones(50, 4))
    kept, inside, says = drawing.moving
    plain = drawing.figure.axes[0].patches[0].get_width()
    drawing.show(blocks_each=4)
    assert inside.get_width() == pytest.approx(plain)
    assert says.get_text() == "no less than without any"
    assert inside.get_x() == kept.get_width() < plain

    drawing.show(blocks_each=1)  # the input of each block: 50 · 4 numbers of 4 bytes
    assert kept.get_width() >= 4 * 0.8 and inside.get_width() < plain / 2


def test_codes_that_nobody_chooses_stay_where_they_are():
    drawing = DeadCodesDrawing()
    used, dead, says = drawing.moving
    drawing.show(spread=1.5, steps=0)
    before, moving = dead.get_xydata().copy(), used.get_xydata().copy()
    said = drawing.show(spread=1.5, steps=30)
    assert (dead.get_xydata() == before).all() and not (used.get_xydata() == moving).any()
    assert f"{len(before)} of 12" in said and says.get_text().startswith(f"{len(before)} codes")
    drawing.show(spread=0.5, steps=30)
    assert len(dead.get_xydata()) == 0 and says.get_text() == "every code was chosen"


@pytest.mark.parametrize(
    ("advantage", "minimum", "flat"),
    [
        (1.0, True, [(1.2, 2.5)]),
        (-1.0, True, [(0.0, 0.8)]),
        (1.0, False, [(0.0, 0.8), (1.2, 2.5)]),
        (0.0, True, [(0.0, 1.0), (1.0, 2.5)]),
    ],
)
def test_the_clip_has_no_gradient_in_its_hatched_areas(advantage, minimum, flat):
    drawing = RatioClipDrawing()
    drawing.show(advantage=advantage, minimum=minimum)
    for ax in drawing.figure.axes:
        areas = [patch for patch in ax.patches if patch.get_width()]
        spans = [(area.get_x(), area.get_x() + area.get_width()) for area in areas]
        assert spans == [pytest.approx(each, abs=0.01) for each in flat]
    (gradient,) = (line for line in drawing.figure.axes[1].lines if line.get_gid() == "gradient")
    ratios, found = (torch.as_tensor(each) for each in gradient.get_data())
    inside = sum((low < ratios) & (ratios < high) for low, high in flat).bool()
    torch.testing.assert_close(found, torch.where(inside, 0.0, ratios * advantage))


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


def test_bars_of_a_group_are_as_large_as_the_push_on_the_answer():
    drawing = GroupDrawing()
    lengths = torch.tensor([*LENGTHS, 20.0])
    advantages = torch.tensor([0.75, -0.25, -0.25, -0.25])
    shares = {
        "each answer": 1 / (4 * lengths),
        "all tokens": 1 / lengths.sum().expand(4),
        "a constant": torch.full((4,), 1 / (4 * 24)),
    }
    for divide_by, share in shares.items():
        said = drawing.show(right=1, last=20, divide_by=divide_by)
        bars = [drawing.moving[0], *drawing.moving[5:8]]  # the first is right, the others are wrong
        areas = [bar.get_width() * bar.get_height() for bar in bars]
        torch.testing.assert_close(torch.tensor(areas), advantages * share * lengths)
        loss = float(said.rpartition("the loss at ratio 1 is ")[2])
        assert loss == pytest.approx(-sum(areas), abs=0.001)
        assert (loss == 0) == (divide_by == "each answer")
    drawing.show(right=4)
    assert all(math.isnan(bar.get_height()) for bar in drawing.moving[:8])
