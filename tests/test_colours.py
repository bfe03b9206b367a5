"""Value, gradient and slope are told apart: on white paper, by every eye, and without colour."""

import itertools

import pytest
import torch
from contrast import contrast, linear
from matplotlib.colors import to_hex

from autograd_surprises.show.colours import (
    CURVATURE_COLOUR,
    GRADIENT_COLOUR,
    GREEN,
    GREY,
    OCHRE,
    PURPLE,
    RED,
    SLOPE_COLOUR,
    VALUE_COLOUR,
)
from autograd_surprises.show.findings import badge
from helpers.curves.axes import SHADES
from helpers.curves.figures import plot_gallery, plot_gradient_curve
from helpers.functions import round_ste
from lessons.backward_needs_a_gradient.drawings import FieldDrawing
from lessons.gradients_of_gradients.drawings import CurvatureDrawing, DescentDrawing
from lessons.six_estimators.drawings import EstimatorsDrawing
from lessons.surrogate_gradients.drawings import StaircaseDrawing, SurrogateDrawing

COLOURS = {
    "value": VALUE_COLOUR,
    "gradient": GRADIENT_COLOUR,
    "slope": SLOPE_COLOUR,
    "curvature": CURVATURE_COLOUR,
}
BADGES = {"green": GREEN, "red": RED, "purple": PURPLE, "ochre": OCHRE, "grey": GREY}
# From linear RGB to what a person without one kind of cone sees: Machado, Oliveira and Fernandes,
# A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009.
EYES = {
    "all cones": torch.eye(3).tolist(),
    "no long cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(light):
    """Lightness and two hues of CIE L*a*b*, where equal distances look equally different."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    white = torch.tensor([0.9505, 1.0, 1.089])
    parts = torch.tensor(to_xyz) @ light.clamp(0, 1) / white
    x, y, z = torch.where(parts > 0.008856, parts ** (1 / 3), 7.787 * parts + 16 / 116)
    return torch.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("name", COLOURS)
def test_each_colour_stands_out_on_white(name):
    assert contrast(COLOURS[name], "#ffffff") >= 3  # WCAG 2.2, 1.4.11


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("one, other", list(itertools.combinations(COLOURS, 2)))
def test_each_eye_tells_any_two_colours_apart(one, other, eye):
    seen = [lab(torch.tensor(EYES[eye]) @ linear(COLOURS[name])) for name in (one, other)]
    assert (seen[0] - seen[1]).norm() > 10  # over four times what an eye just notices


@pytest.mark.parametrize("name", BADGES)
def test_the_words_of_a_badge_are_readable(name):
    assert "color:#fff;" in badge("word", BADGES[name])
    assert contrast(BADGES[name], "#ffffff") >= 4.5


@pytest.mark.parametrize("page", ["#ffffff", "#f5f5f5", "#111111", "#212121"])
@pytest.mark.parametrize("name", BADGES)
def test_a_badge_stands_out_on_each_page(name, page):
    assert contrast(BADGES[name], page) >= 3  # the last one is a row of a table in dark JupyterLab


@pytest.mark.parametrize("eye", EYES)
def test_each_eye_tells_right_from_wrong(eye):
    seen = [lab(torch.tensor(EYES[eye]) @ linear(colour)) for colour in (GREEN, RED)]
    assert (seen[0] - seen[1]).norm() > 10


def bowl(x):
    return (x**2).sum(-1)


def stays(fn, start):
    return start[None]


FIGURES = {
    "curve": lambda: plot_gradient_curve(round_ste),
    "gallery": lambda: plot_gallery({"round_ste": round_ste}, surrogate=True),
    "surrogate": lambda: SurrogateDrawing().figure,
    "curvature": lambda: CurvatureDrawing(torch.sin).figure,
    "descent": lambda: DescentDrawing(bowl, {"one": stays, "two": stays, "three": stays}).figure,
    "estimators": lambda: EstimatorsDrawing().figure,
    "field": lambda: FieldDrawing(lambda x: torch.stack([x[..., 0], x[..., 1]], -1)).figure,
    "stairs": lambda: StaircaseDrawing().figure,
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_lines_in_one_pair_of_axes_differ_without_colour(name):
    """In their dashes or in their markers."""
    for ax in FIGURES[name]().axes:
        looks = {}
        for line in ax.lines:
            if line.get_linestyle() != "None" and line.get_transform() == ax.transData:
                look = line.get_linestyle(), line._unscaled_dash_pattern, line.get_marker()
                looks.setdefault(look, set()).add(line.get_color())
        for look, colours in looks.items():
            assert len(colours) == 1, f"{colours} are drawn alike: {look}"


def test_numbers_can_be_read_on_every_shade():
    """On dark pages, too: there each shade keeps its contrast to the page."""
    dark = contrast("#111111", "#e8e8e8")
    for shade in torch.linspace(0, 1, 101).tolist():
        cell = to_hex(SHADES(shade))
        assert contrast("#000000", cell) >= 4.5 and dark / contrast("#ffffff", cell) >= 4.5, cell
