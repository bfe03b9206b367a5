"""What drawings of training steps, choices and operators show."""

import math
import re

import pytest
import torch
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from test_drawings import sharper_mixture, small_gradients
from test_drawings_of_functions import lines, moving

from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.picture import Picture
from lessons.a_codebook.drawings import DeadCodesDrawing
from lessons.checkpoints_and_freezing.drawings import CheckpointsDrawing
from lessons.clipping_and_half_precision.drawings import ClippingDrawing, HalfPrecisionDrawing
from lessons.custom_operators.operator_checks import OperatorChecksDrawing
from lessons.custom_operators.operator_support import MEASURED, NEEDS, SupportDrawing
from lessons.custom_operators.traced_nodes import TracedNodesDrawing
from lessons.drawings.arrow import Arrow, angle_between
from lessons.hooks.drawings import ImageMapsDrawing
from lessons.one_batch_in_pieces.drawings import DIVISORS, AccumulationDrawing
from lessons.right_value_wrong_gradient.answers_of_a_group import LENGTHS, GroupDrawing
from lessons.right_value_wrong_gradient.kl_terms import KLTermsDrawing
from lessons.right_value_wrong_gradient.ratio_clip import RatioClipDrawing
from lessons.several_processes.drawings import SharesDrawing
from lessons.which_gradient_a_choice_passes_on.drawings import CHOICES, WORTH, ChoiceDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp

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
    places = [text.get_position()[1] for text in moving(drawing, Text, 1)]
    assert not any(0.6 < place < 1.1 for place in places), "across the dashed line"


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
        drawing.show(asked=asked)
        _, shown, mark, word = drawing.moving
        assert shown.get_array().tolist() == cells and word.get_text() == ""
        assert [each[0] for each in mark.get_data()] == [strongest[1], strongest[0]]


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
    drawing = ChoiceDrawing()
    for choose in CHOICES:
        drawing.show(choose=choose)
        bars = torch.tensor([bar.get_width() for bar in drawing.moving[4:8]])
        scores = torch.tensor([0.2, 1.5, -0.4, 1.0])
        p, worth = scores.softmax(-1), torch.tensor(WORTH)
        of_softmax = p * (worth - p @ worth)
        wanted = of_softmax if choose in ("softmax", "straight-through") else torch.zeros(4)
        assert torch.allclose(bars, wanted, atol=1e-5), choose


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
    assert drawing.show(factor=4.0) and marks() == "✓✓✓✓✗"
    assert line.get_ydata()[-1] == 8  # 4x at x = 2
    assert drawing.show(fake="another dtype") and marks() == "✓✓✗✓✓"
    assert drawing.show(writes="its input") and marks() == "✗✓✓✓✗"
    assert {text.get_color() for text in verdicts[1:4]} == {GREEN}
    assert verdicts[0].get_color() == verdicts[4].get_color() == RED


def test_an_operator_stays_one_box_and_a_function_does_not():
    drawing = TracedNodesDrawing()
    for times in (6, 1, 4):
        drawing.show(multiplications=times)
        forward = ["mul"] * times
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
    drawing.show(spread=1.5, steps=30)
    assert (dead.get_xydata() == before).all() and not (used.get_xydata() == moving).any()
    assert says.get_text().startswith(f"{len(before)} codes")
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
    assert not any("outside" in drawing.show(ratio=bound) for bound in (0.8, 1.2))


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
    drawing.show(distance=0.02)  # arrows of no length have no direction
    numbers = [text.get_text() for text in drawing.moving if isinstance(text, Text)]
    assert not any("✗" in number for number in numbers)


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
