"""The drawings of the lessons, each with what a test slides, and how tests look at them."""

from functools import cache
from itertools import cycle

import torch
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

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
from lessons.clipping_and_half_precision.drawings import ClippingDrawing, HalfPrecisionDrawing
from lessons.custom_operators.operator_checks import FAKES, WRITES, OperatorChecksDrawing
from lessons.custom_operators.operator_support import MEASURED, NEEDS, SupportDrawing
from lessons.custom_operators.traced_nodes import TracedNodesDrawing
from lessons.drawings.tangent import TangentDrawing
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.hooks.drawings import ImageMapsDrawing
from lessons.one_batch_in_pieces.drawings import DIVISORS, AccumulationDrawing
from lessons.several_processes.drawings import SHARE_DIVISORS, SharesDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.surrogate_gradients.drawings import StaircaseDrawing, SurrogateDrawing
from lessons.the_doctor.drawings import VerdictDrawing
from lessons.three_patches.drawings import SharperMixtureDrawing
from lessons.which_gradient_a_choice_passes_on.drawings import CHOICES, ChoiceDrawing
from lessons.zero.drawings import SaturationDrawing


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


def at_ends(explorer, *ends):
    """The values of its controls at their first (0) and last (-1) places, in turn."""
    places = zip(explorer.sliders.items(), cycle(ends), strict=False)
    return {name: positions(control)[end] for (name, control), end in places}


def moving(drawing, kind, axes):
    """What moves in these axes, of this kind."""
    ax = drawing.figure.axes[axes]
    return [part for part in drawing.moving if isinstance(part, kind) and part.axes is ax]


def lines(drawing, axes):
    """The points of each line."""
    return [line.get_xydata().tolist() for line in moving(drawing, Line2D, axes)]


def heights(drawing, axes):
    return [bar.get_height() for bar in moving(drawing, Rectangle, axes)]


def told(ax):
    """The words at the frame of these axes."""
    return [text.get_text() for text in ax.texts if text.get_visible()]


def legend_of(drawing):
    (legend,) = drawing.figure.legends
    return zip(legend.get_texts(), legend.legend_handles, strict=True)
