"""What an explorer shows: a figure, and how it follows a few values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from matplotlib.artist import Artist

from autograd_surprises.show.picture import Picture
from helpers.curves.figures import title_with


class Drawing:
    """A figure with parts that move. `explore` puts sliders above it.

    name        what it shows, in a few words; its title
    parameters  the values that `show` takes, with the defaults in its signature
    takes_any   whether `show` takes other names, too
    reserved    names that no slider can have
    figure      the figure
    moving      the parts that most moves change, in the order in which they are drawn
    handles     what a reader can drag: the number of its axes, and the names of the values that
                its x and y are, or None. Its dot has the gid "handle", in the same order.

    Other changes, such as new limits of an axis, show as well, but take longer.
    """

    name: str
    takes_any = False
    reserved: tuple[str, ...] = ()
    figure: Picture
    moving: Sequence[Artist]
    handles: Sequence[Mapping] = ()

    @cached_property
    def parameters(self) -> Mapping[str, object]:
        names, _ = parameters_of(self.show)
        return names

    def show(self, **values) -> str:
        """Move the parts to these values. Returns a sentence that says what can be seen now."""
        raise NotImplementedError

    def fit(self, settings: Sequence[Mapping[str, object]]):
        """Give the axes limits that suit all of these settings, so that nothing jumps later."""

    def caption(self, values: Mapping[str, object]) -> str:
        """The title of a picture that is shown without its sliders."""
        return title_with(self.name, values)

    def with_defaults(self, values: Mapping[str, object]) -> dict[str, object]:
        """A value for each parameter, in their order: the given one, or the default."""
        return {**self.parameters, **values}


def those_that_work(measure: Callable, settings: Sequence[Mapping[str, object]]) -> list:
    """measure(**values) for each of the settings, except those for which it raises.

    Such an error is raised again, and shown, when the controls get there.

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
    """{name: default} of what fn takes, None for no default; and whether it takes other names.

    >>> parameters_of(lambda x, width=2.0: x)
    ({'x': None, 'width': 2.0}, False)
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # not callable, or a builtin without a signature
        return {}, True
    names = {p.name: None if p.default is p.empty else p.default for p in parameters}
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)
