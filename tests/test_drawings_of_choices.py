"""What the drawings of choices and of custom operators show."""

import math

import pytest
import torch
from made_drawings import (
    CODES,
    Passing,
    codebook_layer,
    lines,
    nearest_code,
    sharper_mixture,
)

from autograd_surprises.show.colours import GREEN, RED
from lessons.a_codebook.drawings import CodebookDrawing, DeadCodesDrawing
from lessons.checkpoints_and_freezing.drawings import CheckpointsDrawing
from lessons.choices import ESTIMATORS, bias_and_spread, estimates, exact_gradient
from lessons.custom_operators.operator_checks import OperatorChecksDrawing
from lessons.custom_operators.operator_support import MEASURED, NEEDS, SupportDrawing
from lessons.custom_operators.traced_nodes import TracedNodesDrawing
from lessons.drawings.tangent import TangentDrawing
from lessons.right_value_wrong_gradient.answers_of_a_group import LENGTHS, GroupDrawing
from lessons.right_value_wrong_gradient.kl_terms import KLTermsDrawing
from lessons.right_value_wrong_gradient.ratio_clip import RatioClipDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.which_gradient_a_choice_passes_on.drawings import CHOICES, WORTH, ChoiceDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp


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
