"""What drawings of lessons share: axes side by side, looks, and parts that move."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.explore.drawings.drawing import Drawing
from lessons.drawings.arrow import Arrow

HATCHED = {"fc": "white", "ec": VALUE_COLOUR, "hatch": "////"}
FILLED = {"fc": GRADIENT_COLOUR, "ec": GRADIENT_COLOUR}


class PanelDrawing(Drawing):
    """A figure of axes side by side. What its methods add moves, and is drawn in this order.

    >>> class Line(PanelDrawing):  # explore(Line(), slope=(-2.0, 2.0)) shows it
    ...     name = "a line"
    ...
    ...     def __init__(self):
    ...         (ax,) = self.panels(4, 3, "a line through 0")
    ...         self.drawn = self.line(ax, VALUE_COLOUR, gid="y")
    ...
    ...     def show(self, slope=1.0):
    ...         self.drawn.set_data([0, 1], [0, slope])
    ...         return f"y = {slope:g} at x = 1"
    >>> Line().show(slope=2.0)
    'y = 2 at x = 1'
    """

    def panels(
        self,
        width: float,
        height: float,
        *titles: str,
        grid: str | Sequence[str] = "both",
        **layout,
    ) -> Sequence[Axes]:
        """Make the figure: axes under these titles, with a light grid along "x", "y", "both" or "".

        `grid` is for all axes, or one for each; `layout` goes to matplotlib's `subplots`.
        """
        self.figure, self.moving = Picture(width, height), []
        axes = self.figure.subplots(1, len(titles), squeeze=False, **layout)[0]
        grids = [grid] * len(titles) if isinstance(grid, str) else grid
        for ax, title, along in zip(axes, titles, grids, strict=True):
            ax.set_title(title, y=1)  # without y, each layout looks for its place
            if along:
                draw_light_grid(ax, along=along)
        return axes

    def add(self, artist: Artist) -> Artist:
        """Let this artist move."""
        self.moving.append(artist)
        return artist

    def line(self, ax: Axes, colour: str, mark: str = "", **look) -> Line2D:
        """A line, or marks such as "o", at no place yet."""
        marks = {"marker": mark, "ls": "", "mec": "white"} if mark else {}
        return self.add(ax.plot([], [], color=colour, **{**marks, **look})[0])

    def words(self, ax: Axes, x: float, y: float, text: str = "", **look) -> Text:
        """A text around this place."""
        return self.add(ax.text(x, y, text, **{"ha": "center", "va": "center", **look}))

    def bars(
        self, ax: Axes, places: Iterable[float], size: float = 0.6, *, flat: bool = False, **look
    ) -> list[Rectangle]:
        """A bar of length 1 at each place; `flat` ones lie."""
        bars = [*(ax.barh if flat else ax.bar)(places, 1.0, size, **look)]
        self.moving += bars
        return bars

    def arrow(self, ax: Axes, colour: str, *, dashed: bool = False) -> Arrow:
        """An arrow for these limits of the axes."""
        arrow = Arrow(ax, colour, dashed=dashed)
        self.moving += arrow.artists
        return arrow

    def legend(self, names: Mapping[str, Artist], columns: int | None = None, **options):
        """Name artists below the axes, in one line if `columns` does not say otherwise."""
        columns = columns or len(names)
        self.figure.legend_below([*names.values()], [*names], columns=columns, **options)


def set_each(artists: Iterable[Artist], **values: Iterable):
    """Set a property of several artists, each to a value of its own.

    >>> bars = Picture(4, 3).subplots().bar([0, 1], 1.0)
    >>> set_each(bars, height=[2.0, 3.0]); bars[1].get_height()
    3.0
    """
    for name, each in values.items():
        for artist, value in zip(artists, each, strict=True):
            artist.set(**{name: value})
