"""The parts of a figure that a narrow page shows one below the other."""

import itertools

import pytest
import torch

from autograd_surprises.show.parts import MARGIN, parts_of
from autograd_surprises.show.picture import Picture
from autograd_surprises.show.stroke_recorder import CSS_DPI
from helpers.curves import plot_gallery, plot_gradient_curve
from helpers.explore import explore


def parts_when_drawn(figure):
    figure.canvas.draw()
    return parts_of(figure)


def test_panels_that_share_some_x_are_one_column_and_others_stand_alone():
    figure = Picture(8, 4)
    figure.subplot_mosaic([["tall", "upper"], ["tall", "lower"]])
    (panels,) = parts_when_drawn(figure)
    assert len(panels) == 2
    (left, *_), (right, *_) = panels
    assert left < right


def test_a_title_has_a_part_for_each_word_in_the_order_of_reading():
    figure = Picture(8, 3)
    figure.subplots(1, 2)
    figure.suptitle("one two\nthree")
    words, _ = parts_when_drawn(figure)
    assert len(words) == 3
    one, two, three = words
    assert one[0] < two[0] and one[1] == two[1] < three[1]


def test_a_legend_has_a_part_for_each_entry_that_holds_its_mark():
    figure = Picture(8, 3)
    ax = figure.subplots()
    marks = ax.plot([0], [0], "*", markersize=30), ax.plot([0], [0], ".")
    figure.legend_below([mark for (mark,) in marks], ["star", "point"], columns=2)
    _, (star, point) = parts_when_drawn(figure)
    assert star[3] > 40 > 30 > point[3], "a large mark is cut off"
    assert star[0] < point[0]


def test_where_panels_share_labels_each_but_the_first_has_the_place_of_those():
    figure = plot_gallery({"relu": torch.relu, "abs": torch.abs, "sin": torch.sin}, columns=3)
    panels = next(group for group in parts_when_drawn(figure) if len(group[-1]) == 7)
    first, *others = panels
    x, width, height = others[0][4:]
    assert len(first) == 4 and {tuple(other[4:]) for other in others} == {(x, width, height)}
    assert x == first[0] and 0 < width < first[2] / 3, "those are not the labels"
    boxes = [ax.bbox for ax in figure.axes]
    left, below = (min(getattr(box, edge) for box in boxes) for edge in ("x0", "y0"))
    assert (x + width) * figure.dpi / CSS_DPI < left - 4, "the ticks, too"
    bottom = figure.bbox.height - (first[1] + height) * figure.dpi / CSS_DPI
    assert below - bottom < 10, "numbers of x, too"


@pytest.mark.parametrize(
    "figure",
    [
        lambda: plot_gradient_curve(torch.relu),
        lambda: plot_gallery({"relu": torch.relu, "abs": torch.abs}),
        lambda: explore({"relu": torch.relu, "abs": torch.abs}).figure,
    ],
    ids=["curve", "gallery", "side by side"],
)
def test_panels_do_not_show_the_ink_of_others(figure):
    groups = parts_when_drawn(figure())
    panels = max(groups, key=lambda group: group[0][3])
    for (x, _, width, *_), (right, *_) in itertools.pairwise(panels):
        assert x + width <= right + 2 * MARGIN
