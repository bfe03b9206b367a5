"""What no line can show is marked at the frame, with a word beside it."""

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


def words(marks):
    return {word: text for word, text in marks.words.items() if text.get_visible()}


def test_of_many_ranges_each_kind_has_a_word_and_none_overlap():
    y = X.clone()
    for k, number in enumerate([NAN] * 19 + [-INF]):
        y[10 + 30 * k : 30 + 30 * k] = number
    y[300] = INF
    marks = shown(curve_of(y)).value_marks
    boxes = [text.get_window_extent() for text in words(marks).values()]
    assert {*words(marks)} == {"inf", "-inf", "NaN"}
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_marks_and_words_can_be_read():
    marks = shown(gradient_curve(torch.log)).value_marks
    for text in marks.words.values():
        assert text.get_fontsize() >= 9
        assert contrast(text.get_color(), "white") >= 4.5
    for line in (marks.bars, marks.stripes):
        assert contrast(line.get_color(), "white") >= 3
    assert marks.bars.get_linestyle() != marks.stripes.get_linestyle()  # not by place alone
