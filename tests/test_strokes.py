"""What is written down of odd artists; tests/browser looks at how the page draws them."""

import numpy as np
import pytest
from matplotlib.patches import Circle, Rectangle
from read_strokes import read_strokes

from autograd_surprises.show import live_picture
from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.picture import Picture


@pytest.fixture
def ax():
    return Picture(4, 3).subplots()


def shown(ax, *moving):
    picture = LivePicture(ax.figure, moving)
    picture.refresh()
    return picture


def test_a_new_table_is_sent_with_the_strokes_that_use_it(ax, monkeypatch):
    """Even if their numbers stay the same: the page draws a frame again only if it is sent."""
    monkeypatch.setattr(live_picture, "ROOM", 0)
    picture, sent = shown(ax), []
    picture.observe(lambda change: sent.append(change.name), ["frame", "styles"])
    for colour in ("#112233", "#223344"):
        ax.set_facecolor(colour)
        picture.refresh()
        ax.set_facecolor("#334455")
        sent.clear()
        picture.refresh()
        assert {"frame", "styles"} <= set(sent)


@pytest.mark.parametrize(
    "change, read",
    [
        (lambda ax: ax.set_xticks([0, 1]), True),
        (lambda ax: ax.set_xscale("log"), True),
        (lambda ax: ax.set_xticks([0, 1], ["ours", "theirs"]), False),
        (lambda ax: ax.axis("off"), False),
        (lambda ax: ax.set_navigate(False), False),
    ],
)
def test_numbers_are_read_out_where_there_are_numbers(ax, change, read):
    change(ax)
    assert shown(ax).axes[0]["read"] is read


def test_each_axes_is_read_out_with_its_own_names_and_ranges():
    figure = Picture(4, 3)
    for k, ax in enumerate(figure.subplots(1, 2)):
        ax.set(title=f"title {k}", xlabel=f"x {k}", ylabel=f"y {k}", xlim=(k, 5), ylim=(k, 10))
    left, right = shown(figure.axes[0]).axes
    for k, about in enumerate((left, right)):
        assert about["title"] == f"title {k}"
        assert (about["x"]["label"], about["y"]["label"]) == (f"x {k}", f"y {k}")
        assert (about["x"]["range"], about["y"]["range"]) == ([k, 5], [k, 10])
    assert left["box"][0] + left["box"][2] < right["box"][0]


PLAIN = {"color": "#0000ff", "marker": "o", "markersize": 6.0}
HATCHED = {"fill": False, "hatch": "//"}
HATCHES = {"hatch": "xx", "hatch_linewidth": 3.0, "edgecolor": "#00ff00"}
if hasattr(Rectangle, "set_hatchcolor"):  # matplotlib 3.11, which Python 3.10 does not get
    HATCHED["hatchcolor"], HATCHES["hatchcolor"] = "#0000ff", "#ff0000"
LOOKS = {  # how to draw something, and by what another one differs
    "line": (
        lambda ax, **look: ax.plot([0.2, 0.8], [0.2, 0.8], **{**PLAIN, **look})[0],
        {
            "markersize": 12.0, "marker": "s", "markerfacecolor": "#00ff00",
            "markeredgecolor": "#ff0000", "markeredgewidth": 3.0, "color": "#00ff00",
            "linewidth": 4.0, "linestyle": "--", "alpha": 0.5, "gid": "another",
        },
    ),
    "text": (
        lambda ax, **look: ax.text(0.5, 0.5, **{"s": "one", **look}),
        {"s": "two", "color": "#00ff00", "fontsize": 20, "rotation": 90, "weight": "bold"},
    ),
    "patch": (
        lambda ax, **look: ax.add_patch(Rectangle((0.2, 0.2), 0.5, 0.5, **{**HATCHED, **look})),
        HATCHES,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "kind, changed", [(kind, name) for kind, (_, looks) in LOOKS.items() for name in looks]
)
def test_what_differs_in_one_respect_is_drawn_so_beside_the_other_and_after_it(kind, changed):
    draw, looks = LOOKS[kind]
    other = {changed: looks[changed]}

    def picture_of(*wanted):
        ax = Picture(4, 3).subplots()
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.axis("off")  # to draw the axes takes longer than all else
        drawn = [draw(ax, **look) for look in wanted]
        return shown(ax, *drawn), drawn

    (_, plain), (_, alone) = (read_strokes(picture_of(look)[0]) for look in ({}, other))
    assert plain != alone
    both, (first, _) = picture_of({}, other)
    assert read_strokes(both)[1] == plain + alone
    first.set(**{"text" if changed == "s" else changed: looks[changed]})
    both.refresh()
    assert read_strokes(both)[1] == alone + alone


@pytest.mark.slow
def test_more_points_than_16_bits_can_count(ax):
    many = np.linspace(0, 1, 33_000)
    (line,) = ax.plot(many, many % 0.01, "o")
    (area,) = ax.fill(many, many % 0.01)
    marks, outline = (body for _, body in read_strokes(shown(ax, line, area))[1])
    assert len(marks) == 2 * 33_000 and len(outline[0]) > 2 * 33_000


@pytest.mark.slow
def test_more_rows_than_16_bits_can_count_are_refused(ax):
    image = ax.imshow(np.zeros((33_000, 1)), interpolation="none", aspect="auto")
    with pytest.raises(OverflowError, match="up to 32767, but one is 33000"):
        shown(ax, image)


def test_a_text_far_outside_stays_outside(ax):
    text = ax.text(12, 0.5, "far away", in_layout=False)  # 16 bits would wrap it into the picture
    ((_, ((x, _), _)),) = read_strokes(shown(ax, text))[1]
    assert x > 16 * ax.figure.get_figwidth() * 100


def test_a_path_that_an_artist_is_clipped_to_is_part_of_its_style(ax):
    for radius in (0.3, 0.4):
        (line,) = ax.plot([0, 1], [0, 1])
        line.set_clip_path(Circle((0.5, 0.5), radius, transform=ax.transData))
    outlines = {style["outline"] for style in shown(ax).styles if "outline" in style}
    assert len(outlines) == 2
