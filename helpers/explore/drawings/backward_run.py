"""Backward through a small graph, one step at a time."""

import math
import re
from collections.abc import Callable, Mapping
from functools import cache

import torch
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from autograd_surprises.show.colours import (
    BLUE,
    GRADIENT_COLOUR,
    INK,
    LINE_GREY,
    VALUE_COLOUR,
    VERMILION,
)
from autograd_surprises.show.layers import arranged, placed, points_along
from autograd_surprises.show.picture import Picture
from autograd_surprises.show.stroke_recorder import CSS_DPI
from helpers.explore.drawings.backward_steps import BackwardSteps
from helpers.explore.drawings.backward_words import (
    arrives,
    explanation,
    in_grad,
    is_dead,
    is_done,
    numbers,
    passed_on,
    seen,
)
from helpers.explore.drawings.drawing import Drawing, arguments_of

WIDTH, HEAD, FOOT = 6.0, 0.45, 0.4  # inches: of the figure, of its title, of the key below
ROW_GAP, PAD, LINE = 0.17, 0.08, 0.17  # inches: between rows, around a text, from line to line
TALLEST, TIGHT = 7.2, 0.1  # inches: what a window holds, and between rows where they are many
SIZE = 9.5  # points
GREY, PALE = "#888888", "#5f5f5f"  # of lines, and of text, which has to be darker
TEXT = "#9c4100"  # of gradients: GRADIENT_COLOUR is too light to be read
# Fill, border, its width, its line.
ACTIVE = "#fbd5bd", GRADIENT_COLOUR, 2.1, "-"
DEAD = "#e2e2e2", LINE_GREY, 0.7, "--"
EMPTY = "#e2e2e2", VERMILION, 1.4, "--"  # a leaf that gets nothing
SPOILED = "#f3d4e6", "#a3457d", 1.4, "-"  # a leaf that gets inf or NaN
LOOKS = {
    "operation": ("#ffffff", BLUE, 0.7, "-"),
    "leaf": ("#d9ecf8", BLUE, 1.4, "-"),
    "data": DEAD,
    "cut": ("#ffffff", VERMILION, 1.4, "--"),
}
LONG = 20  # characters of a product, after which its result is on a line of its own
TIP, SPACE = 0.1, 0.045  # inches: of an arrowhead, from word to word
KEY = "↑ a result of the forward pass", "↓ × the local derivative = the gradient"


class BackwardDrawing(Drawing):
    """What `fn().backward()` does, one step at a time.

    fn returns the loss; its parameters can be slid. `tensors` names those whose .grad is of
    interest. Beside each arrow, ↑ marks a result of the forward pass, and ↓ the local derivative
    and what backward sends along. If fn returns several numbers, v1, v2, … are their weights, by
    default 1, 0, …

    last  the number of the last step; 0 is the forward pass

    The controls start at the forward pass; the stored picture shows the end.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> BackwardDrawing(lambda: 3 * w, {"w": w}).show(step=2)
    'w.grad is filled: 3. MulBackward0 ↑ 6 ↓ 1; MulBackward0 → w ↑ 2 ↓ × 3 = 3; w.grad = 3'
    """

    name = "What backward does"
    light = ("step",)

    def __init__(self, fn: Callable, tensors: Mapping[str, torch.Tensor]):
        self.fn, self.tensors = fn, dict(tensors)
        own, _ = arguments_of(fn)
        steps = BackwardSteps(fn, self.tensors, **own)
        count = steps.loss.numel()
        self.weights = {f"v{i + 1}": float(i == 0) for i in range(count)} if count > 1 else {}
        self.last, self._shape, self._dtype = len(steps.order), steps.shape, steps.loss.dtype
        self.parameters = {"step": 0, **own, **self.weights}
        self.stored = {"step": self.last}
        self._known = None  # the latest values, and what backward does with them
        self._sentence = ""
        self._make_artists(steps)
        self.fit(self._sizes(steps))

    def _make_artists(self, steps):
        """Boxes and lines without places; above the loss, and on each way, is a box without rim."""
        first_label = 1 + len(steps.stops)
        links = [(0, 1)]
        for label, way in enumerate(steps.ways, first_label):
            links += [(way.upper + 1, label), (label, way.lower + 1)]
        boxes = first_label + len(steps.ways)
        self._rows, self._routes = arranged(boxes, links)
        self.figure = Picture(WIDTH, WIDTH)
        self.figure.set_layout_engine("none")
        self._ax = self.figure.add_axes((0, 0, 1, 1))
        self._ax.axis("off")
        self._lines = [self._ax.plot([], [])[0] for _ in links]
        self._tips = [self._ax.plot([], [], "v", ms=72 * TIP)[0] for _ in links]
        self._patches = [self._patch(stop) for stop in steps.stops]
        self._texts = []  # of each box, an upper and a lower one
        for i in range(boxes):
            colour = INK if 0 < i < first_label else VALUE_COLOUR
            self._texts.append((self._text(colour), self._text(TEXT)))
        self._labels = [lower for _, lower in self._texts[first_label:]]
        for stop, (_, lower) in zip(steps.stops, self._texts[1:], strict=False):
            lower.set_color(PALE if stop.kind in ("data", "cut") else TEXT)
        self._key = [self._text(VALUE_COLOUR), self._text(TEXT)]
        for text, words in zip(self._key, KEY, strict=True):
            text.set(text=words, ha="left")
        self._caption = self._text(INK)
        self._caption.set_ha("left")
        texts = [text for pair in self._texts for text in pair]
        self.moving = [*self._lines, *self._tips, *self._patches, *texts, self._caption]

    def _text(self, colour):
        look = {"fontsize": SIZE, "color": colour, "parse_math": False, "linespacing": 1.25}
        return self._ax.text(0, 0, "", ha="center", va="top", **look)

    def _patch(self, stop):
        rounded = stop.kind in ("leaf", "data", "cut")
        shape = "round,pad=0,rounding_size=0.14" if rounded else "square,pad=0"
        return self._ax.add_patch(FancyBboxPatch((0, 0), 1, 1, boxstyle=shape))

    def show(self, step=0, **values):
        if not 0 <= step <= self.last:
            raise ValueError(f"step needs to be from 0 to {self.last}, got {step}")
        steps = self._steps(values)
        self.ranges = self._sizes(steps)
        for pair, words in zip(self._texts, _words(steps, step), strict=True):
            for text, line in zip(pair, words, strict=True):
                text.set_text(line)
        for stop, patch in zip(steps.stops, self._patches, strict=True):
            fill, border, width, line = _look(stop, step)
            patch.set(fc=fill, ec=border, lw=width, ls=line)
        self._set_flow(0, step > 0, dead=False)
        for k, way in enumerate(steps.ways):
            upper, lower = steps.stops[way.upper], steps.stops[way.lower]
            done = is_done(upper, step)
            never = upper.turn is None or lower.kind in ("cut", "data")
            dead = never or (done and is_dead(way))
            for link in (1 + 2 * k, 2 + 2 * k):
                self._set_flow(link, done, dead)
            self._labels[k].set_color(PALE if dead else TEXT)
        self._sentence = self._sentence_of(steps, step)
        self._wrap()
        return f"{explanation(steps, step)}. {seen(steps, step)}"

    def _sentence_of(self, steps, step):
        return f"Step {step} of {self.last}: {explanation(steps, step)}."

    def _set_flow(self, link, done, dead):
        colour = GREY if dead else GRADIENT_COLOUR if done else INK
        look = {"color": colour, "ls": "--" if dead else "-", "lw": 2 if done and not dead else 1}
        self._lines[link].set(**look)
        into_a_stop = link % 2 == 0
        self._tips[link].set(color=colour, visible=done and not dead and into_a_stop)

    def _sizes(self, steps):
        """Width and height that each box needs, whichever step is shown, as ranges from 0."""
        every = range(self.last + 1)
        wrapped = [_wrapped(self._sentence_of(steps, step), WIDTH) for step in every]
        ranges = {"lines": (0, max(map(len, wrapped)))}
        for step in every:
            for i, texts in enumerate(_words(steps, step)):
                pad = 2 * PAD if 0 < i <= len(steps.stops) else 0
                lines = [texts[0], *texts[1].splitlines()]
                size = {"width": max(map(_width, lines)) + pad, "height": len(lines) * LINE + pad}
                for name, inches in size.items():
                    _, most = ranges.get(f"{name} {i}", (0, 0))
                    ranges[f"{name} {i}"] = 0, max(most, inches)
        return ranges

    def fit(self, ranges):
        count = len(self._texts)
        sizes = [
            tuple(ranges[f"{name} {i}"][1] for name in ("width", "height")) for i in range(count)
        ]
        words = LINE * (ranges["lines"][1] + 0.5)
        spots, width, height = placed(self._rows, sizes, self._routes, ROW_GAP)
        if HEAD + height + FOOT + words > TALLEST:
            spots, width, height = placed(self._rows, sizes, self._routes, TIGHT)
        self._width = max(WIDTH, math.ceil(4 * (width + 4 * PAD)) / 4)  # whole pixels
        below = -height - FOOT
        bottom = HEAD - math.ceil(4 * (HEAD - below + words)) / 4
        scale = min(1, TALLEST / (HEAD - bottom))
        wide = math.ceil(CSS_DPI * scale * self._width) / CSS_DPI  # whole pixels
        self.figure.set_size_inches(wide, scale * (HEAD - bottom))
        for text in self._ax.texts:
            text.set_fontsize(SIZE * scale)
        for tip in self._tips:
            tip.set_markersize(72 * TIP * scale)
        self._ax.set(xlim=(-self._width / 2, self._width / 2), ylim=(bottom, HEAD))
        for i, (head, tail) in enumerate(self._texts):
            top = spots[i].top - (PAD if 0 < i <= len(self._patches) else 0)
            head.set_position((spots[i].x, top))
            tail.set_position((spots[i].x, top - LINE))
        for i, patch in enumerate(self._patches, 1):
            wide, tall = sizes[i]
            patch.set_bounds(spots[i].x - wide / 2, spots[i].top - tall, wide, tall)
        for line, tip, route in zip(self._lines, self._tips, self._routes, strict=True):
            points = points_along([spots[stop] for stop in route])
            line.set_data(*zip(*points, strict=True))
            x, y = points[-1]
            tip.set_data([x], [y + TIP / 2])
        left = 2 * PAD - self._width / 2
        for text, x in zip(self._key, (left, left + 2.4), strict=True):
            text.set_position((x, below + FOOT - 2 * PAD))
        self._caption.set_position((left, below))
        self._wrap()

    def _wrap(self):
        self._caption.set_text("\n".join(_wrapped(self._sentence, self._width)))

    def _steps(self, values):
        """What backward does with these values; known if only the step is another one."""
        values = self.with_defaults(values)
        values.pop("step")
        if self._known is None or self._known[0] != values:
            weights = [values[name] for name in self.weights]
            own = {name: value for name, value in values.items() if name not in self.weights}
            v = torch.tensor(weights, dtype=self._dtype) if weights else None
            steps = BackwardSteps(self.fn, self.tensors, v, **own)
            if steps.shape != self._shape:
                raise ValueError(
                    f"with {values} the graph is another one, and one picture shows one graph: "
                    "let the function compute the same operations, on the same tensors, for all "
                    "values"
                )
            self._known = values, steps
        return self._known[1]


def _words(steps, step):
    """The upper and the lower text of each box: what enters, the stops, the ways."""
    entered = f"↓ {numbers(steps.v)}" if step else ""
    yield f"↑ {numbers(steps.loss)}", entered
    for stop in steps.stops:
        yield _head(stop), _tail(stop, step)
    for way in steps.ways:
        upper, lower = steps.stops[way.upper], steps.stops[way.lower]
        value = f"↑ {numbers(way.value)}" if way.value is not None else ""
        sent = ""
        if is_done(upper, step) and lower.kind in ("operation", "leaf"):
            sent = f"↓ {passed_on(way, upper.upstream)}"
            sent = sent.replace(" = ", "\n   = ") if len(sent) > LONG else sent
        yield value, sent


def _head(stop):
    if stop.kind in ("leaf", "data"):
        return stop.name or "a leaf without a name"
    if stop.kind == "cut":
        return f"{stop.name}: {stop.made_by}" if stop.name else stop.made_by
    return f"{stop.name} · {stop.made_by}" if stop.name else stop.made_by


def _tail(stop, step):
    if stop.kind == "cut":
        return stop.why
    if stop.kind == "data":
        return "requires_grad=False"
    done = is_done(stop, step)
    lines = [f"upstream {arrives(stop)}" if done else ""] if stop.kind == "operation" else []
    if stop.keeps:
        lines.append(f".grad = {in_grad(stop, done)}")
    elif stop.name and stop.turn:
        lines.append("non-leaf: .grad stays None" if done else "")
    return "\n".join(lines)


def _look(stop, step):
    """Fill and border of a stop's box."""
    if stop.turn is not None and stop.turn == step - 1:
        return ACTIVE
    if stop.kind == "operation" and stop.turn is None:
        return DEAD
    if stop.kind == "leaf" and (stop.turn is None or is_done(stop, step)):
        if stop.upstream is None or not stop.upstream.any():
            return EMPTY
        if not stop.upstream.isfinite().all():
            return SPOILED
    return LOOKS[stop.kind]


def _wrapped(text, width):
    """The lines of a text on a figure that is so many inches wide; a vector stays on one line."""
    lines, right = [[]], 0.0
    for word in re.split(r" (?![^\[]*\])", text):
        if right + _width(word) > width - 4 * PAD:
            lines.append([])
            right = 0.0
        lines[-1].append(word)
        right += _width(word) + SPACE
    return [" ".join(words) for words in lines]


@cache
def _width(text):
    """In inches, on one line."""
    font = FontProperties(size=SIZE)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72
