"""What an explorer shows: a figure, and how it follows a few values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence

from matplotlib.artist import Artist

from autograd_surprises.show.picture import Picture
from helpers.curves.figures import title_with


class Drawing:
    """A figure with parts that move. `explore` puts sliders above it.

    name        what it shows, in a few words; its title
    parameters  the values that `show` takes, with their defaults
    takes_any   whether `show` takes other names, too
    reserved    names that no slider can have
    figure      the figure
    moving      the parts that `show` changes, in the order in which they are drawn
    frame       changes when something else has changed, so that all has to be drawn again
    """

    name: str
    parameters: Mapping[str, object]
    takes_any = False
    reserved: tuple[str, ...] = ()
    figure: Picture
    moving: Sequence[Artist]
    frame: Hashable = None

    def show(self, **values) -> str:
        """Move the parts to these values. Returns a sentence that says what can be seen now."""
        raise NotImplementedError

    def fit(self, settings: Sequence[Mapping[str, object]]):
        """Give the axes limits that hold all of these values, so that nothing jumps later."""

    def caption(self, values: Mapping[str, object]) -> str:
        return title_with(self.name, values)


def those_that_work(measure: Callable, settings: Sequence[Mapping[str, object]]) -> list:
    """measure(**values) for each of the settings, without those for which it raises.

    They raise again, and are seen, when the controls get there.

    >>> those_that_work(lambda x: 1 / x, [{"x": 2}, {"x": 0}])
    [0.5]
    """
    measured = []
    for values in settings:
        try:
            measured.append(measure(**values))
        except Exception:
            continue
    return measured


def parameters_of(fn: Callable) -> tuple[dict[str, object], bool]:
    """Names and defaults (None for none) of what fn takes, and whether it takes other names, too.

    >>> parameters_of(lambda x, width=2.0: x)
    ({'x': None, 'width': 2.0}, False)
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # not callable, or a builtin that keeps its names to itself
        return {}, True
    names = {p.name: None if p.default is p.empty else p.default for p in parameters}
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)


def short(number: object) -> str:
    """A number with at most three decimals, and no -0.

    >>> short(torch.tensor(-0.00001)), short(1 / 3)
    ('0', '0.333')
    """
    return f"{round(float(number), 3) + 0.0:g}"
