"""What the drawings of a training loop show."""

import math
import re

import pytest
import torch
from made_drawings import (
    lines,
    moving,
    small_gradients,
)
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from lessons.clipping_and_half_precision.drawings import ClippingDrawing, HalfPrecisionDrawing
from lessons.drawings.arrow import angle_between
from lessons.hooks.drawings import ImageMapsDrawing
from lessons.one_batch_in_pieces.drawings import DIVISORS, AccumulationDrawing
from lessons.several_processes.drawings import SharesDrawing

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp


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
