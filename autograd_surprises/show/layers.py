"""Boxes in rows, each below all that lead to it, and the links between them: what is where."""

import math
from collections.abc import Sequence
from itertools import chain, pairwise, product
from typing import NamedTuple

Link = tuple[int, int]  # from the box at the first position to the one at the second
GAP = 0.35  # inches between boxes


class Spot(NamedTuple):
    """Where a box, or a link that passes by, is in its row, in inches. `floor` ends the row."""

    x: float
    top: float
    bottom: float
    floor: float


def placed(
    rows: Sequence[Sequence],
    sizes: Sequence[tuple[float, float]],
    ways: Sequence[Sequence],
    row_gap: float,
) -> tuple[dict[object, Spot], float, float]:
    """The spot of each box and stop of `arranged` rows, and the width and height of all, in inches.

    >>> spots, width, height = placed([[0], [1]], [(1.0, 0.5), (2.0, 0.5)], [[0, 1]], 0.4)
    >>> spots[1].x, round(spots[1].top, 2), width
    (0.0, -0.9, 2.0)
    """
    wide = {stop: sizes[stop][0] if isinstance(stop, int) else 0 for row in rows for stop in row}
    x = _below_each_other(rows, wide, ways)
    left = min(x[stop] - wide[stop] / 2 for stop in x)
    right = max(x[stop] + wide[stop] / 2 for stop in x)
    spots, top = {}, 0.0
    for row in rows:
        tall = {stop: sizes[stop][1] for stop in row if isinstance(stop, int)}
        floor = top - max(tall.values())
        for stop in row:
            middle = x[stop] - (left + right) / 2
            spots[stop] = Spot(middle, top, top - tall[stop] if stop in tall else floor, floor)
        top = floor - row_gap
    return spots, right - left, -floor


def _below_each_other(rows, wide, ways):
    """Each in the middle of what leads to it, as far as there is room, and nothing overlaps."""
    before = _linked_before(wide, ways)
    x: dict = {}
    for row in rows:
        wanted, found, right = [], [], -math.inf
        for stop in row:
            above = [x[each] for each in before[stop]]
            wanted.append(sum(above) / len(above) if above else max(0.0, right))
            found.append(max(wanted[-1], right + wide[stop] / 2))
            right = found[-1] + wide[stop] / 2 + GAP
        shift = sum(a - b for a, b in zip(wanted, found, strict=True)) / len(row)
        x.update((stop, place + shift) for stop, place in zip(row, found, strict=True))
    return x


def points_along(spots: Sequence[Spot]) -> list[tuple[float, float]]:
    """The corners of a link that has these spots along it: slanted between two rows only."""
    first, *passed, last = spots
    points = [(first.x, first.bottom), (first.x, first.floor)]
    points += [(spot.x, y) for spot in passed for y in (spot.top, spot.floor)]
    return [*points, (last.x, last.top)]


def arranged(count: int, links: Sequence[Link]) -> tuple[list[list], list[list]]:
    """Rows of so many boxes, each below all that link to it, and of each link the stops along it.

    The first box is on top. A link that passes rows has one stop in each of them: (link, row).

    >>> arranged(2, [(0, 1)])
    ([[0], [1]], [[0, 1]])
    """
    above: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in links:
        above[lower].append(upper)
    depth: dict = {}
    waiting = list(range(count))
    while waiting:
        i = waiting.pop(0)
        if all(upper in depth for upper in above[i]):
            depth[i] = 1 + max((depth[upper] for upper in above[i]), default=-1)
        else:
            waiting.append(i)
    bottom = max(depth.values())
    depth.update(dict.fromkeys(set(range(count)).difference({0}, *links), bottom))
    ways = []
    for k, (upper, lower) in enumerate(links):
        passed = range(depth[upper] + 1, depth[lower])
        ways.append([upper, *((k, row) for row in passed), lower])
    depth.update((stop, stop[1]) for way in ways for stop in way[1:-1])
    before = _linked_before(depth, ways)
    rows = [[stop for stop in depth if depth[stop] == row] for row in range(bottom + 1)]
    place: dict = {}

    def middle_and_left(stop):
        places = [place[each] for each in before[stop]] or [0]
        return sum(places) / len(places), min(places)

    for row in rows:  # below the middle of what leads to it
        row.sort(key=middle_and_left)
        place.update((stop, k - (len(row) - 1) / 2) for k, stop in enumerate(row))
    _uncross(rows, before, _linked_before(depth, [way[::-1] for way in ways]))
    return rows, ways


def _linked_before(stops, ways):
    """For each stop, those from which a way comes to it."""
    before: dict = {stop: [] for stop in stops}
    for way in ways:
        for start, end in pairwise(way):
            before[end].append(start)
    return before


def _uncross(rows, above, below):
    """Swap neighbours in a row as long as fewer links cross."""
    place = {stop: k for row in rows for k, stop in enumerate(row)}

    def crossings(left, right):
        pairs = (product(ends[left], ends[right]) for ends in (above, below))
        return sum(place[a] > place[b] for a, b in chain(*pairs))

    swapped = True
    while swapped:
        swapped = False
        for row in rows:
            for k in range(len(row) - 1):
                left, right = row[k : k + 2]
                if crossings(right, left) < crossings(left, right):
                    row[k : k + 2] = right, left
                    place[right], place[left], swapped = k, k + 1, True
