"""What the drawings show, and whether it follows the sliders."""

from functools import cache
from itertools import combinations, cycle

import pytest
import torch
from matplotlib.text import Text
from read_strokes import read_strokes

from autograd_surprises.atlas.record import stored
from helpers.explore.controls import positions
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from helpers.explore.explorer import explore
from helpers.explore.player import Playable
from helpers.functions import SURROGATES
from lessons.a_codebook.drawings import CodebookDrawing, DeadCodesDrawing
from lessons.answers_tokens_experts.answers_of_a_group import TOKEN_SHARES, GroupDrawing
from lessons.backward_needs_a_gradient.drawings import FieldDrawing, JacobianDrawing
from lessons.checkpoints_and_freezing.drawings import CheckpointsDrawing
from lessons.clipping_and_half_precision.drawings import ClippingDrawing, HalfPrecisionDrawing
from lessons.custom_operators.operator_checks import FAKES, WRITES, OperatorChecksDrawing
from lessons.custom_operators.traced_nodes import TracedNodesDrawing
from lessons.drawings.tangent import TangentDrawing
from lessons.gradient_atlas.drawings import HALF_WIDTHS, CloseUpDrawing
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.hooks.drawings import ImageMapsDrawing
from lessons.one_batch_in_pieces.drawings import DIVISORS, AccumulationDrawing
from lessons.right_value_wrong_gradient.kl_terms import KLTermsDrawing
from lessons.right_value_wrong_gradient.ratio_clip import RatioClipDrawing
from lessons.several_processes.drawings import SHARE_DIVISORS, SharesDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.start_values.drawings import SaturationDrawing
from lessons.surrogate_gradients.drawings import StaircaseDrawing, SurrogateDrawing
from lessons.the_doctor.drawings import VerdictDrawing
from lessons.three_patches.drawings import SharperMixtureDrawing
from lessons.train_through_rounding.drawings import TrainingDrawing
from lessons.which_gradient_a_choice_passes_on.drawings import CHOICES, ChoiceDrawing

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


POLICY, REFERENCE = torch.tensor([[1.5, -0.25, -2.0, 0.5], [-1.0, -1.5, 0.5, 1.0]])
CLAMP = stored("2.13").look_up("F.hardtanh(x)")
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


class BothClips(RatioClipDrawing):
    """Each control moves something from the beginning."""

    def show(self, advantage=1.0, ratio=1.0, low=0.8, high=1.2, minimum=False):
        return super().show(advantage, ratio, low, high, minimum)


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
    "estimators": (EstimatorsDrawing, {"temperature": (0.25, 2.0, 0.25), "samples": (1, 1000, 9)}),
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
    "traced nodes": (TracedNodesDrawing, {"multiplications": [6, 3, 1]}),
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
    "training": (
        TrainingDrawing,
        {
            "bits": [8, 2],
            "method": ["learned step", "straight-through"],
            "learning_rate": [0.2, 1.0],
            "trained": (0, 100, 5),
        },
    ),
    "clip": (
        BothClips,
        {
            "advantage": (-1.5, 1.5, 0.25),
            "ratio": (0.05, 2.5, 0.05),
            "low": (0.5, 0.95, 0.05),
            "high": (1.05, 2.0, 0.05),
            "minimum": True,
        },
    ),
    "terms of the KL": (
        lambda: KLTermsDrawing(POLICY, REFERENCE),
        {"distance": (0.0, 1.5, 0.05), "logit_0": (-3.0, 3.0, 0.1)},
    ),
    "group": (GroupDrawing, {"right": (1, 3), "last": (6, 24), "divide_by": [*TOKEN_SHARES]}),
    "close-up": (lambda: CloseUpDrawing(CLAMP), {"at": ["-1", "1"], "half_width": HALF_WIDTHS}),
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
            value = values[name]
            shown = value if isinstance(value, (str, bool)) else f"{value:g}"
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


WITH_HANDLES = ["point", "field", "codebook", "clipping", "clip"]


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
    follows = isinstance(explorer.drawing, CloseUpDrawing)  # its axes do
    assert len(frames) == 1 + follows


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
