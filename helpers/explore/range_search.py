"""The range that the axes of a drawing need, found one setting at a time."""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import median
from time import perf_counter

from helpers.curves.axes import Range, union
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.printing import silence


class RangeSearch:
    """Measures the settings of a drawing, one for each `step`.

    The settings need to be in order, from near to what is shown to far from it.

    count  how many settings there are
    left   those that are not measured yet
    spent  seconds spent so far

    >>> from helpers.explore.drawings.curve import CurveDrawing
    >>> search = RangeSearch(CurveDrawing(torch.sin, (0, 1)), [{"grad_output": 2.0}])
    >>> while search.left: seconds = search.step()
    >>> search.ranges["gradient"]
    (0.0, 2.0)
    """

    def __init__(self, drawing: Drawing, settings: Sequence[Mapping[str, object]]):
        self.count, self.spent = len(settings), 0.0
        # First ever farther to the ends, so that a slow setting is met before one that takes much
        # longer; then the others in no order, because the search may end early.
        farther = {2**k - 1 for k in range(self.count.bit_length())}
        first = sorted((farther | {self.count - 2, self.count - 1}) & {*range(self.count)})
        others = [i for i in range(self.count) if i not in first]
        order = [*first, *random.Random(0).sample(others, len(others))]
        self.left = [settings[i] for i in reversed(order)]  # the last one is next
        self._drawing, self._found = drawing, []

    def step(self) -> float:
        """Measure one more setting; returns the seconds it took.

        An error is dropped: it is raised and shown when the controls are set to these values.
        """
        start = perf_counter()
        with silence(), suppress(Exception):
            self._found.append(self._drawing.measure(**self.left.pop()))
        seconds = perf_counter() - start
        self.spent += seconds
        return seconds

    @property
    def ranges(self) -> dict[str, Range]:
        """Ranges that hold what was measured, without a few settings far away from all others."""
        names = {name for found in self._found for name in found}
        return union(near for name in sorted(names) for near in self._near(name))

    def _near(self, name):
        ranges = [found[name] for found in self._found if name in found]
        reaches = [max(-low, high) for low, high in ranges]
        far = max(50.0, 20 * median(reaches))
        pairs = zip(ranges, reaches, strict=True)
        return [{name: range_} for range_, reach in pairs if reach <= far]
