"""What no line can show is marked at the frame, with a word beside it."""

import numpy as np
import pytest
import torch
from contrast import contrast

from autograd_surprises.show.picture import Picture
from helpers.curves.figures import CurveArtists, plot_gallery, plot_gradient_curve
from helpers.curves.numbers import GradientCurve, gradient_curve

X = torch.linspace(-3, 3, 601, dtype=torch.float64)
INF, NAN = torch.inf, torch.nan


def curve_of(y, grad=X, slope=X):
    return GradientCurve(X, y, grad, slope, slope, 1.0)


def shown(curve):
    figure = Picture(8, 3)
    artists = CurveArtists(*figure.subplots(1, 2))
    artists.fit([curve])
    artists.show(curve)
    figure.canvas.draw()
    return artists


def runs(line):
    """(start, stop, height) of each mark, as far as it can be seen."""
    if not line.get_visible():
        return []
    starts, stops = (np.array(line.get_xdata())[k::3] for k in (0, 1))
    heights = np.array(line.get_ydata(), float)[::3]
    return [tuple(np.round(run, 2)) for run in zip(starts, stops, heights, strict=True)]


def words(marks):
    return [(text.get_text(), *text.get_position()) for text in marks.words if text.get_visible()]


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
    ((said, x, y),) = words(marks)
    assert said == word
    assert (1 + 3) / 6 < x < 1
    assert abs(y - height) < 0.2


def test_a_single_point_has_a_mark_that_can_be_seen():
    artists = shown(gradient_curve(torch.sqrt))
    ((start, stop, height),) = runs(artists.gradient_marks.bars)
    assert start < 0 < stop and height == 1
    assert stop - start > 0.02 * 6
    assert "inf" in [word for word, *_ in words(artists.gradient_marks)]


def test_the_widest_mark_of_a_kind_has_the_word():
    marks = shown(curve_of(X.masked_fill((X > 1.005) | (X < -2), INF))).value_marks
    ((word, x, _),) = words(marks)
    assert len(runs(marks.bars)) == 2 and word == "inf" and x > 0.7


def test_of_many_ranges_each_kind_has_a_word_and_none_overlap():
    y = X.clone()
    for k, number in enumerate([NAN] * 19 + [-INF]):
        y[10 + 30 * k : 30 + 30 * k] = number
    y[300] = INF
    artists = shown(curve_of(y))
    boxes = [text.get_window_extent() for text in artists.value_marks.words if text.get_visible()]
    assert {word for word, *_ in words(artists.value_marks)} == set(KINDS)
    assert len(runs(artists.value_marks.stripes)) == 19
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    frame = artists.value_ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_words_of_neighbours_stand_side_by_side():
    y = X.masked_fill((X > 0) & (X < 0.2), NAN).masked_fill(X[300] == X, -INF)
    one, other = (text.get_window_extent() for text in shown(curve_of(y)).value_marks.words[:2])
    assert one.width and other.width and not one.overlaps(other)


@pytest.mark.parametrize("other_limits_before", [False, True])
def test_a_word_stays_at_its_mark_when_the_axes_change(other_limits_before):
    """An explorer shows its curve first, then it fits the axes."""
    curve, figure = gradient_curve(torch.sqrt, x=(-1, 4)), Picture(8, 3)
    artists = CurveArtists(*figure.subplots(1, 2))
    if other_limits_before:
        artists.fit([gradient_curve(torch.sin, x=(-30, 30))])
    artists.show(curve)
    artists.fit([curve])
    figure.canvas.draw()
    (word,) = [text for text in artists.gradient_marks.words if text.get_text() == "inf"]
    ((start, stop, _),) = runs(artists.gradient_marks.bars)
    mark = artists.gradient_ax.transData.transform([(start, 0), (stop, 0)])[:, 0]
    box = word.get_window_extent()
    assert max(mark[0] - box.x1, box.x0 - mark[1]) < 0.5 * box.width


def test_marks_go_where_everything_is_finite_again():
    figure = Picture(8, 3)
    artists = CurveArtists(*figure.subplots(1, 2))
    for curve in (gradient_curve(torch.log), gradient_curve(torch.sin)):
        artists.fit([curve])
        artists.show(curve)
    for marks in (artists.value_marks, artists.gradient_marks):
        assert not any(artist.get_visible() for artist in marks.artists)
    assert set(artists.value_marks.artists) <= set(artists.moving)


def test_marks_and_words_can_be_read():
    marks = shown(gradient_curve(torch.log)).value_marks
    for text in marks.words:
        assert text.get_fontsize() >= 9
        assert contrast(text.get_color(), "white") >= 4.5
    for line in (marks.bars, marks.stripes):
        assert contrast(line.get_color(), "white") >= 3
    assert marks.bars.get_linestyle() != marks.stripes.get_linestyle()  # not by place alone


def test_figures_without_sliders_have_marks_too():
    for figure in (plot_gradient_curve(torch.log), plot_gallery({"log": torch.log})):
        texts = [text.get_text() for ax in figure.axes for text in ax.texts if text.get_visible()]
        assert sorted(texts) == ["-inf", "NaN", "inf"]
