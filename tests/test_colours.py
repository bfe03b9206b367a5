"""Value, gradient and slope are told apart: on white paper, by every eye, and without colour."""

import base64
import io

import nbformat
import numpy as np
import pytest
import torch
from contrast import contrast
from matplotlib.colors import to_hex
from PIL import Image

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
from tools.notebooks import notebook_files

COLOURS = {
    "value": VALUE_COLOUR,
    "gradient": GRADIENT_COLOUR,
    "slope": SLOPE_COLOUR,
    "curvature": CURVATURE_COLOUR,
}
BADGES = {"green": GREEN, "red": RED, "purple": PURPLE, "ochre": OCHRE, "grey": GREY}


@pytest.mark.parametrize("name", COLOURS)
def test_each_colour_stands_out_on_white(name):
    assert contrast(COLOURS[name], "#ffffff") >= 3  # WCAG 2.2, 1.4.11


@pytest.mark.parametrize("name", BADGES)
def test_the_words_of_a_badge_are_readable(name):
    assert "color:#fff;" in badge("word", BADGES[name])
    assert contrast(BADGES[name], "#ffffff") >= 4.5


def stored_pictures():
    for path in notebook_files():
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                if png := output.get("data", {}).get("image/png"):
                    yield f"{path.name}, {cell.id}", Image.open(io.BytesIO(base64.b64decode(png)))


def test_the_ink_of_each_stored_picture_stands_out_on_light_and_on_dark_pages():
    inks = {}
    for name, picture in stored_pictures():
        colours = np.frombuffer(picture.palette.palette, np.uint8).reshape(-1, 3) / 255
        opacity = np.frombuffer(picture.info["transparency"], np.uint8)
        assert opacity.min() < 8, f"{name}: the ground is not transparent"
        inks.update((to_hex(ink), name) for ink in colours[: len(opacity)][opacity > 250])
    seen = {ink: [contrast(ink, ground) for ground in ("#ffffff", "#111111")] for ink in inks}
    assert len(seen) > 10 and not {inks[ink]: ink for ink in seen if min(seen[ink]) < 3}


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
