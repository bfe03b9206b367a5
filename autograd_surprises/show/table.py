"""A small table that reads well in a notebook and in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of cells under a heading each: Markdown in a notebook, aligned text elsewhere.

    >>> Table.of({"round": {"value": 2.0, "trains": False}}, corner="function")
    function  value  trains
    round     2.0    no
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, rows: Mapping[str, Mapping[str, object]], corner: str = "") -> Table:
        """Make a table from {row: {column: cell}}; True and False become yes and no."""
        columns = {column: None for cells in rows.values() for column in cells}
        lines = [
            (row, *(_text(cells.get(column, "")) for column in columns))
            for row, cells in rows.items()
        ]
        return cls((corner, *columns), tuple(lines))

    def _repr_markdown_(self):
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def __repr__(self):
        lines = [self.headings, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _text(cell):
    return {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else str(cell)
