"""The gallery shows every operator, including one that is added later."""

import re

from helpers import functions
from lessons.surrogate_gradients.operator_gallery import operators, plot_operators


def name_of_function(cls):
    """FakeQuantize -> fake_quantize, LSQuantize -> lsq_quantize, SignSTE -> sign_ste."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.replace("LSQ", "Lsq_q"))
    return words.lower()


def test_every_operator_is_shown():
    classes = {label.partition("(")[0] for label in operators()}
    called = set(map(name_of_function, classes))
    public = {name for name in functions.__all__ if name[0].islower()}
    others = {"apply_anywhere", "argmax_ste", "reverse_gradient", "value_with_gradient_of"}
    assert public - called == others
    steps = [label for label in operators() if label.startswith("Step(")]
    assert len(steps) == len(functions.SURROGATES)


def test_each_picture_has_the_surrogate_function_above():
    figure = plot_operators()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    lines = [line.get_label() for ax in shown for line in ax.lines]
    assert lines.count("surrogate function") == len(operators()) == len(shown) / 2
    rises = {
        ax.get_title(): round(float(line.get_ydata()[-1] - line.get_ydata()[0]), 2)
        for ax in shown
        for line in ax.lines
        if line.get_label() == "surrogate function"
    }
    wanted = {"RoundSTE()": 5, "SignSTE()": 2, "ScaleGradient(-1)": -5}
    assert wanted.items() <= rises.items(), "from -2.5 to 2.5: the integral of each gradient"
