"""What figures draw, by the data of their artists, and their text alternatives."""

import io
import re
from pathlib import Path

import pytest
import torch
from PIL import Image
from shapes import compare, shapes

from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.show.picture import Picture
from helpers import functions
from helpers.curves.figures import CurveArtists, plot_gallery, plot_gradient_curve
from helpers.curves.numbers import gradient_curve
from helpers.explore import explore
from helpers.explore.drawings.curve import CurveDrawing
from helpers.functions import clamp, clamp_ste, round_ste
from lessons.gradients_of_gradients.drawings import DescentDrawing
from lessons.surrogate_gradients.operator_gallery import operators

CURVES = {  # name: a function, and where and how it is measured; all are drawn into one figure
    "jumps": (torch.floor, {"x": (-1.5, 1.5)}),
    "jumps from the right": (torch.ceil, {"x": (-1.5, 1.5)}),
    "a value at a jump": (torch.sign, {}),
    "jumps of the gradient": (lambda x: torch.floor(x).detach() * (x - x.detach()), {}),
    "a kink": (torch.abs, {}),
    "a gradient at a kink": (lambda x: clamp(x, -1, 0.3, bound_gradient=0.5), {}),
    "a lie": (round_ste, {}),
    "lies outside": (lambda x: clamp_ste(x, -1, 2), {"grad_output": 3}),
    "twice": (lambda x: x + x.detach(), {"grad_output": 5}),
    "a pole": (lambda x: 1 / x, {}),
    "a pole at an end": (lambda x: 1 / x.abs(), {"x": (0, 4)}),
    "a pole at the other end": (lambda x: 1 / x.abs(), {"x": (-4, 0)}),
    "NaN, wide and narrow": (lambda x: ((x + 1) * (2.8 - x)).log(), {}),
    "inf and NaN": (torch.sqrt, {}),
    "smooth": (torch.sin, {}),
}
DRAWN = tomllib.loads(Path(__file__).with_name("curves.toml").read_text(encoding="utf-8"))


def test_what_is_drawn_of_a_curve():
    """One after the other in one figure: nothing is left of the curve before."""
    figure = Picture(8, 3)
    artists = CurveArtists(*figure.subplots(1, 2))
    for name, (fn, measure) in CURVES.items():
        curve = gradient_curve(fn, **measure)
        artists.fit([curve])
        artists.show(curve)
        figure.canvas.draw()
        limits = [f"{low:.3g} {high:.3g}" for low, high in (ax.get_ylim() for ax in figure.axes)]
        title = artists.gradient_ax.get_title()
        compare(f"{' and '.join(limits)}; {title}; {shapes(artists)}", DRAWN[name])


def test_a_figure_and_its_text():
    figure = plot_gradient_curve(round_ste, title="Straight through")
    data, metadata = figure._repr_mimebundle_()
    expected = "Straight through: value -3 to 3, gradient 1, slope 0; they differ from -3 to 3"
    assert data["text/plain"] == expected == metadata["image/png"]["alt"]
    assert metadata["image/png"]["width"] == 800


def test_the_picture_is_sharp_and_small():
    figure = plot_gradient_curve(torch.sin)
    figure.canvas.draw()
    png = figure.png()
    image = Image.open(io.BytesIO(png))
    assert image.size == (1600, 680)
    assert image.mode == "P"
    assert len(png) < 60_000


def test_a_curve_that_is_measured_already():
    curve = gradient_curve(torch.sin)
    assert plot_gradient_curve(curve).summary == f"curve: {curve.describe()}"
    with pytest.raises(TypeError, match="this curve is measured already: leave out min"):
        plot_gradient_curve(curve, min=1)


def test_gallery_shares_its_scales_and_says_what_each_shows():
    fns = {"sin": torch.sin, "five sin": lambda x: 5 * torch.sin(x), "round": torch.round}
    figure = plot_gallery(fns, columns=2)
    visible = [ax for ax in figure.axes if ax.get_visible()]
    assert len(visible) == 6
    assert len({ax.get_ylim() for ax in visible if ax.get_title()}) == 1
    assert [line.split(":")[0] for line in figure.summary.splitlines()] == list(fns)
    for wrong in ({}, [torch.sin]):
        with pytest.raises(ValueError, match="a dict of one or more titles and functions"):
            plot_gallery(wrong)
    with pytest.raises(ValueError, match="got .* and columns=0"):
        plot_gallery(fns, columns=0)


def test_the_dashed_line_is_called_what_it_is():
    drawing = CurveDrawing(torch.relu, (-1, 1))
    for grad_output, expected in (
        (1.0, ["true slope", "gradient ≠ slope"]),
        (3.0, ["slope · grad_output", "they differ"]),
    ):
        drawing.show(grad_output=grad_output)
        alone = plot_gradient_curve(torch.relu, grad_output=grad_output)
        gallery = plot_gallery({"relu": torch.relu}, grad_output=grad_output)
        for figure in (drawing.figure, alone, gallery):
            names = [text.get_text() for text in figure.legends[0].get_texts()]
            assert names[-2:] == expected
        assert ("slope" in drawing.figure.axes[1].get_title()) == (grad_output == 1)


DOLLARS = r"$\costs$ 5"  # matplotlib takes it for a formula, and refuses it


def costs(x, currency=DOLLARS):
    return 5 * x


@pytest.mark.slow
@pytest.mark.parametrize(
    "show",
    [
        lambda: explore(costs, currency=[DOLLARS, "€"]),
        lambda: explore({DOLLARS: torch.sin, "cos": torch.cos}),
        lambda: explore(
            DescentDrawing(lambda x: (x**2).sum(-1), {DOLLARS: lambda fn, x: x[None]}),
            x1=(0.0, 1.0),
        ),
        lambda: plot_gallery({DOLLARS: torch.sin}, title=DOLLARS),
        lambda: plot_gradient_curve(costs, currency=DOLLARS),
    ],
)
def test_words_of_the_user_are_no_formula(show):
    data, _ = show()._repr_mimebundle_()
    assert DOLLARS in data["text/plain"]


def test_the_gallery_shows_every_operator():
    names = {label.partition("(")[0] for label in operators()}
    words = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name.replace("LSQ", "Lsq_q")) for name in names}
    public = {name for name in functions.__all__ if name[0].islower()}
    others = {"apply_anywhere", "argmax_ste", "reverse_gradient", "value_with_gradient_of"}
    assert public - {word.lower() for word in words} == others
    steps = [label for label in operators() if label.startswith("Step(")]
    assert len(steps) == len(functions.SURROGATES)
