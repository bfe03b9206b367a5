"""What no line can show is marked at the frame, with a word beside it."""

import numpy as np
import pytest
import torch
from contrast import contrast

from autograd_surprises.show.picture import Picture
from helpers.curves.figures import CurveArtists
from helpers.curves.numbers import GradientCurve, gradient_curve

X = torch.linspace(-3, 3, 601, dtype=torch.float64)
INF, NAN = torch.inf, torch.nan


def curve_of(y, grad=X, slope=X):
    return GradientCurve(X, y, grad, slope, slope, 1.0)


def shown(*curves):
    artists = CurveArtists(*Picture(8, 3).subplots(1, 2))
    for curve in curves:
        artists.fit([curve])
        artists.show(curve)
    artists.value_ax.figure.canvas.draw()
    return artists


def runs(line):
    """(start, stop, height) of each mark, as far as it can be seen."""
    if not line.get_visible():
        return []
    starts, stops = (np.array(line.get_xdata())[k::3] for k in (0, 1))
    heights = np.array(line.get_ydata(), float)[::3]
    return [tuple(np.round(run, 2)) for run in zip(starts, stops, heights, strict=True)]


def words(marks):
    return {word: text for word, text in marks.words.items() if text.get_visible()}


KINDS = {"inf": (INF, "bars", 1), "-inf": (-INF, "bars", 0), "NaN": (NAN, "stripes", 0)}


@pytest.mark.parametrize("word", KINDS)
@pytest.mark.parametrize("of", ["value", "gradient"])
def test_each_kind_has_its_mark_along_its_range_and_its_word_beside_it(word, of):
    number, kind, height = KINDS[word]
    numbers = X.masked_fill(X > 1.005, number)
    artists = shown(curve_of(numbers) if of == "value" else curve_of(X, numbers))
    marks = getattr(artists, f"{of}_marks")
    assert runs(getattr(marks, kind)) == [(1.01, 3, height)]
    assert runs(marks.bars if kind == "stripes" else marks.stripes) == []
    ((said, text),) = words(marks).items()
    assert said == text.get_text() == word
    box = text.get_window_extent().transformed(text.axes.transAxes.inverted())
    assert 4 / 6 < box.x0 < box.x1 < 1 and abs(box.y0 - height) < 0.2


def test_a_single_point_has_a_mark_that_can_be_seen():
    marks = shown(gradient_curve(torch.sqrt)).gradient_marks
    ((start, stop, height),) = runs(marks.bars)
    assert start < 0 < stop and height == 1
    assert stop - start > 0.02 * 6
    assert {*words(marks)} == {"inf", "NaN"}


@pytest.mark.parametrize("x", [(0, 4), (-1, 4), (-4, 0)])
def test_a_word_stands_at_the_widest_mark_of_its_kind_and_inside_of_the_frame(x):
    artists = shown(gradient_curve(torch.sin, (-9, 9)), gradient_curve(lambda x: 1 / x.abs(), x))
    word, frame = words(artists.value_marks)["inf"], artists.value_ax.get_window_extent()
    at, _ = artists.value_ax.transData.transform((0, 0))
    box = word.get_window_extent()
    assert frame.x0 <= box.x0 <= at + 1 and at - 1 <= box.x1 <= frame.x1


def test_of_many_ranges_each_kind_has_a_word_and_none_overlap():
    y = X.clone()
    for k, number in enumerate([NAN] * 19 + [-INF]):
        y[10 + 30 * k : 30 + 30 * k] = number
    y[300] = INF
    marks = shown(curve_of(y)).value_marks
    boxes = [text.get_window_extent() for text in words(marks).values()]
    assert {*words(marks)} == set(KINDS)
    assert len(runs(marks.stripes)) == 19
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_marks_go_where_everything_is_finite_again():
    artists = shown(gradient_curve(torch.log), gradient_curve(torch.sin))
    for marks in (artists.value_marks, artists.gradient_marks):
        assert not any(artist.get_visible() for artist in marks.artists)
    assert set(artists.value_marks.artists) <= set(artists.moving)


def test_marks_and_words_can_be_read():
    marks = shown(gradient_curve(torch.log)).value_marks
    for text in marks.words.values():
        assert text.get_fontsize() >= 9
        assert contrast(text.get_color(), "white") >= 4.5
    for line in (marks.bars, marks.stripes):
        assert contrast(line.get_color(), "white") >= 3
    assert marks.bars.get_linestyle() != marks.stripes.get_linestyle()  # not by place alone
