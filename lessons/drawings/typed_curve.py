"""The gradient curve of a formula that a reader types."""

import torch

from helpers.curves.figures import curve_ranges, title_with
from helpers.curves.numbers import TooFastError
from helpers.explore.drawings.curve import CurveDrawing
from lessons.formula import FormulaError

FORMULA = "y ="  # the value that is the formula: no free name can be called so


class TypedDrawing(CurveDrawing):
    """The picture of CurveDrawing for a formula in x, with a value for each of its free names.

    `show` raises FormulaError for text that is no formula, or one that cannot be drawn.

    >>> from lessons.formula import Typed
    >>> TypedDrawing().show(**{FORMULA: Typed("a * x"), "a": 2.0})
    'value -6 to 6, gradient 2, slope 2'
    """

    def __init__(self):
        super().__init__(torch.clone, (-3.0, 3.0))
        self.name, self.parameters, self.takes_any = "Its value and its gradient", {}, True

    def show(self, /, **values):  # even self can be a free name
        return self._draw(self._measure(**values))

    def measure(self, /, **values):
        return curve_ranges(self._measure(**values))

    def caption(self, values):
        typed = values[FORMULA]
        return title_with(
            f"{FORMULA} {typed.caption}", {name: values[name] for name in typed.names}
        )

    def _measure(self, /, **values):
        typed = values.pop(FORMULA)
        self.fn = typed.function(**values)
        try:
            return super()._measure()
        except TooFastError:
            raise FormulaError(
                "this changes too fast to be drawn: multiply x by a smaller number"
            ) from None
