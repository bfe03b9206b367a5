"""A picture of each elementwise Function of helpers.functions: value, surrogate and gradient."""

from collections.abc import Callable

import torch
from torch.autograd import Function

from autograd_surprises.show.picture import Picture
from helpers import functions
from helpers.curves.figures import plot_gallery, word_for

# Parameters after x, for each Function that has some. Each tuple is one picture.
PARAMETERS = {
    "ArgmaxSTE": [],  # no curve: it chooses among several numbers
    "Clamp": [(-1.0, 1.0, 0.5)],
    "ClampSTE": [(-1.0, 1.0)],
    "FakeQuantize": [(0.5, -3, 2)],
    "LSQuantize": [(torch.tensor(0.5), -3, 2, 1.0)],
    "ScaleGradient": [(-1.0,)],
    "Step": [(surrogate, 1.0) for surrogate in functions.SURROGATES],
}


def operators() -> dict[str, Callable]:
    """Each elementwise Function of helpers.functions, with `PARAMETERS`, as a function of x.

    >>> operators()["ClampSTE(-1, 1)"](torch.tensor(3.0))
    tensor(1.)
    """
    found = {}
    for name in functions.__all__:
        cls = getattr(functions, name)
        if isinstance(cls, type) and issubclass(cls, Function):
            for parameters in PARAMETERS.get(name, [()]):
                label = f"{name}({', '.join(map(word_for, parameters))})"
                found[label] = lambda x, cls=cls, parameters=parameters: cls.apply(x, *parameters)
    return found


def plot_operators() -> Picture:
    """Draw them all: value and surrogate function above, the gradient below.

    >>> plot_operators().summary.splitlines()[0]
    'CeilSTE(): value -2 to 3, gradient 1, slope 0; they differ from -2.5 to 2.5'
    """
    title = "Each operator: its value and its surrogate function (above), its gradient (below)"
    return plot_gallery(operators(), title=title, surrogate=True, x=(-2.5, 2.5))
