"""Several functions of one x side by side, as an explorer shows them."""

import functools
import textwrap
from collections.abc import Callable, Mapping

from autograd_surprises.show.picture import Picture
from helpers.curves.agreement import describe_differences, measure_together
from helpers.curves.axes import union
from helpers.curves.figures import add_legend, curve_ranges, draw_columns
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.drawing import Drawing, arguments_of


class SideBySideDrawing(Drawing):
    """Two to four functions side by side on the same scales, each value above its gradient.

    A slider sets the parameter of its name in each function whose signature has it. `curves` maps
    the names of the functions to the numbers now shown.

    >>> as_maximum = lambda x: torch.maximum(x, torch.zeros_like(x))
    >>> summary = SideBySideDrawing({"relu": torch.relu, "maximum": as_maximum}, (-2, 2)).show()
    >>> summary.rpartition(". ")[2]
    'Same values, gradients differ at 0 (0, 0.5)'
    """

    reserved = CurveDrawing.reserved

    def __init__(self, functions: Mapping[str, Callable], x: tuple[float, float]):
        _check(functions)
        self.functions = {name: _named(fn, name) for name, fn in functions.items()}
        self.x, self.name = x, _enumerated(list(functions))
        self._taken = [arguments_of(fn)[0] for fn in functions.values()]
        self.parameters = {}
        for parameters in self._taken:
            for parameter, default in parameters.items():
                if self.parameters.get(parameter) is None:
                    self.parameters[parameter] = default
        self.parameters.setdefault("grad_output", 1.0)
        self.figure = Picture(8, 4.6)
        titles = [textwrap.fill(name, 68 // len(functions)) for name in functions]  # or they touch
        self._columns = draw_columns(self.figure, titles, len(functions))
        add_legend(self.figure, self._columns[0])
        self.moving = [artist for column in self._columns for artist in column.moving]

    def show(self, **values):
        curves = self._measure(**values)
        self.ranges = union(map(curve_ranges, curves))
        for column, curve in zip(self._columns, curves, strict=True):
            column.show(curve)
        self.curves = dict(zip(self.functions, curves, strict=True))
        texts = [f"{name}: {curve.describe()}" for name, curve in self.curves.items()]
        differences = describe_differences(curves)
        return ". ".join([*texts, differences[0].upper() + differences[1:]])

    def fit(self, ranges):
        for column in self._columns:
            column.limit(ranges)

    def _measure(self, grad_output=1.0, **values):
        calls = []
        for fn, taken in zip(self.functions.values(), self._taken, strict=True):
            own = {name: value for name, value in values.items() if name in taken}
            calls.append((fn, {"grad_output": grad_output, **own}))
        return measure_together(calls, self.x)


def _check(functions):
    if not 2 <= len(functions) <= 4:
        raise ValueError(f"needs two to four functions to compare, got {len(functions)}")
    for name, fn in functions.items():
        if not isinstance(name, str):
            raise TypeError(f"the functions need names, such as 'relu', got {name!r}")
        if not callable(fn):
            raise TypeError(f"{name!r} needs to be a function of a tensor, got {type(fn).__name__}")


def _named(fn, name):
    """The function under the name that errors about it will use."""

    @functools.wraps(fn)  # keeps the signature
    def named(x, **params):
        return fn(x, **params)

    named.__name__ = name
    return named


def _enumerated(names):
    return f"{', '.join(names[:-1])} and {names[-1]}"
