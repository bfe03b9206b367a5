"""The gallery shows every operator, including one that is added later."""

import re

from helpers import functions
from lessons.surrogate_gradients.operator_gallery import operators


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
