"""A picture of every operator of helpers.functions: what it does, and what it pretends."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.autograd import Function

from autograd_surprises.show.picture import Picture
from helpers import functions
from helpers.curves.figures import plot_gallery


def operators() -> dict[str, Callable]:
    """The Functions of helpers.functions with example parameters, each as a function of x.

    >>> operators()["ClampSTE(-1, 1)"](torch.tensor(3.0))
    tensor(1.)
    """
    found = {}
    for name in functions.__all__:
        cls = getattr(functions, name)
        if isinstance(cls, type) and cls.forward is not Function.forward:
            for parameters in cls.examples:
                label = f"{name}({', '.join(map(_word, parameters))})"
                found[label] = lambda x, cls=cls, p=parameters: functions.apply_anywhere(cls, x, *p)
    return found


def plot_operators() -> Picture:
    """Draw them all: value and pretended function above, the gradient below.

    >>> plot_operators().summary.splitlines()[0]
    'CeilSTE(): value -2 to 3, gradient 1, slope 0; they differ from -2.5 to 2.5'
    """
    title = "What each operator does and what it pretends (above), and its gradient (below)"
    return plot_gallery(operators(), title=title, pretended=True, x=(-2.5, 2.5))


def _word(parameter):
    if isinstance(parameter, torch.Tensor):
        parameter = parameter.item()
    return f"{parameter:g}" if isinstance(parameter, float) else str(parameter)
