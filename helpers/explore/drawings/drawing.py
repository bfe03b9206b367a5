"""What an explorer shows: a figure, and how it follows a few values."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from matplotlib.artist import Artist

from autograd_surprises.show.picture import Picture
from helpers.curves.axes import Range
from helpers.curves.figures import title_with


class Drawing:
    """A figure with parts that move. `explore` puts sliders below it.

    name        what it shows, in a few words; its title
    joint       what stands between the title and the values after it
    parameters  the values that `show` takes, with the defaults in its signature
    takes_any   whether `show` takes other names, too
    reserved    names that no slider can have
    figure      the figure
    moving      the parts that most moves change, in the order in which they are drawn
    handles     what a reader can drag, as {"axes": k, "names": [x, y]}: a dot in figure.axes[k],
                and the values that its x and its y set, None for neither. A line in `moving` with
                markers and the gid "handle" draws the dot; several are in the same order.
    light       names of values that change no curve, only what lies on it
    step        None, or a method that takes the values and returns those that one step changes;
                it adds a Step button
    stored      values that the stored picture shows, whatever the controls are set to: for a page
                without a kernel, the end of a run says more than its beginning
    ranges      what the axes have to hold now: {name of your choice: (low, high)}

    Artists that are not in `moving` may change, too, but that takes longer. So axes that follow
    the values get their limits from `fit`, and rarely: an explorer joins the ranges of several
    settings. A drawing whose axes never change leaves out `ranges` and `fit`.
    """

    name: str
    joint = ", "
    takes_any = False
    reserved: tuple[str, ...] = ()
    figure: Picture
    moving: Sequence[Artist]
    handles: Sequence[Mapping] = ()
    light: Sequence[str] = ()
    step: Callable[..., Mapping[str, object]] | None = None
    stored: Mapping[str, object] = {}
    ranges: Mapping[str, Range] = {}

    @cached_property
    def parameters(self) -> Mapping[str, object]:
        names, _ = arguments_of(self.show)
        return names

    def show(self, **values) -> str:
        """Move the parts to these values, and set `ranges`.

        Returns a sentence that says what can be seen now.
        """
        raise NotImplementedError

    def fit(self, ranges: Mapping[str, Range]):
        """Give the axes limits that hold these ranges."""

    def caption(self, values: Mapping[str, object]) -> str:
        """The title of a picture that is shown without its sliders."""
        return title_with(self.name, values, self.joint)

    def with_defaults(self, values: Mapping[str, object]) -> dict[str, object]:
        """A value for each parameter, in their order: the given one, or the default."""
        return {**self.parameters, **values}


def arguments_of(fn: Callable) -> tuple[dict[str, object], bool]:
    """{name: default} of what fn takes, None for no default; and whether it takes other names.

    >>> arguments_of(lambda x, width=2.0: x)
    ({'x': None, 'width': 2.0}, False)
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # not callable, or a builtin without a signature
        return {}, True
    names = {p.name: None if p.default is p.empty else p.default for p in parameters}
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)
