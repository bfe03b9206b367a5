"""What matplotlib draws, written down as strokes that a page can replay."""

from functools import partial

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, Bbox

CSS_DPI = 100  # one inch of a figure is this many pixels of the page
UNIT = 16  # coordinates are whole sixteenths of a pixel of the page
MOST = 2**15 - 1  # fits into 16 bits
FARTHEST = 2000 * UNIT  # what lies farther away does not fit
CAPS = {"projecting": "square"}  # the page's names, where they differ
# Outlines as the font has them: hinting would fit them, and their distances, to one size of pixel.
unhinted = partial(rc_context, {"text.hinting": "none"})


class StrokeRecorder(RendererBase):
    """A matplotlib renderer that writes down what it is asked to draw.

    styles  how strokes look: a list of dicts that only grows
    glyphs  the outlines of characters as SVG paths, for a font of size 100; only grows
    words   the texts of the last `record`

    A stroke is the number of its style, followed by what this kind of style needs:

    path   the count of its parts; for each the count of its points, and the points
    marks  the count of points, and the points: the style's own path is drawn at each
    text   x, y, and the number of glyphs; for each its number, x, y and size in percent
    cells  left, top, right and bottom, the numbers of rows and columns, the style of each cell

    All are 16-bit integers; a count takes two, the multiples of 32,768 and the rest. Lengths are
    sixteenths of a pixel of the page; y points down. Raises OverflowError for more styles, glyphs,
    rows or columns than 16 bits can number.

    >>> from autograd_surprises.show.picture import Picture
    >>> figure = Picture(4, 3)
    >>> len(StrokeRecorder(figure).record(figure)) > 0
    True
    """

    def __init__(self, figure: Figure):
        super().__init__()
        self.figure, self.dpi = figure, figure.dpi
        self.styles: list[dict] = []
        self.glyphs: list[str] = []
        self.words: list[str] = []
        self._known_styles: dict = {}
        self._known_glyphs: dict = {}
        self._known_words: dict = {}
        self._known_shapes: dict = {}
        self._strokes: list = []
        self._names: list = []

    def record(self, *artists: Artist) -> bytes:
        """What these artists draw now, as strokes."""
        self._strokes, self.words = [], []
        for artist in artists:
            artist.draw(self)
        numbers = np.concatenate([np.empty(0, "<i2"), *self._strokes])
        if np.max(numbers, initial=0) > MOST:
            raise OverflowError(
                f"strokes hold numbers up to {MOST}, but one is {numbers.max():.0f}"
            )
        return numbers.astype("<i2").tobytes()

    def points_to_pixels(self, points):
        return points * self.dpi / 72

    def get_canvas_width_height(self):
        return self.figure.bbox.width, self.figure.bbox.height

    def get_text_width_height_descent(self, s, prop, ismath):
        # that of the PNG, so that both have the same layout
        with unhinted():
            agg = self.figure.canvas.get_renderer()
            return agg.get_text_width_height_descent(s, prop, ismath)

    def option_scale_image(self):
        return True  # images come as they are, not resampled to pixels

    def option_image_nocomposite(self):
        return True

    def open_group(self, s, gid=None):
        self._names.append(gid)

    def close_group(self, s):
        self._names.pop()

    def draw_path(self, gc, path, transform, rgbFace=None):
        if rgbFace is None and not gc.get_hatch():
            size = self.get_canvas_width_height()
            parts = path.to_polygons(transform, *size, closed_only=False)
        else:  # cut off at the canvas, an area would have another outline
            whole = path.cleaned(transform, remove_nans=True)
            parts = whole.to_polygons(closed_only=False)
            farthest = FARTHEST / UNIT / self._scale
            if np.abs(whole.vertices).max(initial=0) > farthest:
                box = Bbox([[-farthest] * 2, [farthest] * 2])
                parts = [cut for p in parts for cut in Path(p).clip_to_bbox(box).to_polygons()]
        if parts:
            points, starts = _joined(parts)
            style = self._style("path", gc, rgbFace, snap=_snaps(gc, points, starts))
            counts = np.stack(_count(np.diff(starts, append=len(points))), 1)
            places = np.insert(self._places(points), np.repeat(2 * starts, 2), counts.ravel())
            self._write([style, *_count(len(parts))], places)

    def draw_markers(self, gc, marker_path, marker_trans, path, trans, rgbFace=None):
        points = trans.transform(path.vertices)
        points = points[np.isfinite(points).all(1)]
        if len(points):
            key = marker_path.vertices.tobytes(), marker_trans.get_matrix().tobytes()
            if key not in self._known_shapes:
                to_page = marker_trans + Affine2D().scale(self._scale, -self._scale)
                straight = _joined(marker_path.to_polygons(closed_only=False))
                self._known_shapes[key] = _svg(marker_path, to_page), _snaps(gc, *straight)
            shape, snap = self._known_shapes[key]
            style = self._style("marks", gc, rgbFace, shape=shape, snap=snap)
            self._write([style, *_count(len(points))], self._places(points))

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        glyphs = self._glyphs_of(s, prop, ismath)
        size = prop.get_size_in_points() * CSS_DPI / 72
        style = self._style("text", gc, gc.get_rgb(), size=round(size, 2), angle=angle)
        start = np.rint(np.array([x, y]) * self._scale * UNIT).clip(-FARTHEST, FARTHEST)
        self._write([style], start, [len(glyphs) // 4], glyphs)
        self.words.append(s)

    def draw_image(self, gc, x, y, im, transform=None):
        if transform is None:
            raise NotImplementedError("only an image with interpolation='none' has cells to show")
        corners = transform.transform([(0, 0), (1, 1)]) + (x, y)
        left, bottom, right, top = self._places(corners)
        colours, alphas = np.split(im.reshape(-1, 4) / 255, [3], axis=1)
        # as on white paper: a page can keep the contrast of an opaque colour only
        opaque = 1 - gc.get_alpha() * alphas * (1 - colours)
        fills = [self._style("cell", self.new_gc(), tuple(each)) for each in opaque.round(3)]
        style = self._style("cells", gc, None)
        # the first row is at the bottom
        self._write([style, left, bottom, right, top, *im.shape[:2]], fills)

    @property
    def _scale(self):
        return CSS_DPI / self.dpi

    def _places(self, points):
        """Points of the figure as x, y, x, y, … on the page."""
        scaled = (points * (1, -1) + (0, self.figure.bbox.height)) * (self._scale * UNIT)
        return np.rint(scaled).clip(-FARTHEST, FARTHEST).ravel()

    def _write(self, *numbers):
        self._strokes += numbers

    def _style(self, kind, gc, fill, **more):
        """The number of this look in the table."""
        box, outline = gc.get_clip_rectangle(), self._clip_outline(gc)
        hatch = gc.get_hatch() and (gc.get_hatch_color(), gc.get_hatch_linewidth())
        key = (
            kind, tuple(gc.get_rgb()), gc.get_linewidth(), gc.get_capstyle(), gc.get_joinstyle(),
            str(gc.get_dashes()), None if fill is None else tuple(fill), gc.get_hatch(),
            hatch, gc.get_alpha(), box and tuple(box.extents), outline, *self._names[-1:],
            *more.items(),
        )  # fmt: skip
        known = self._known_styles.get(key)
        if known is None:
            known = self._known_styles[key] = len(self.styles)
            if outline:
                more["outline"] = outline
            self.styles = [*self.styles, {"kind": kind, **self._look(kind, gc, fill, box), **more}]
        return known

    def _clip_outline(self, gc):
        """The path that nothing is drawn outside of, if an artist has one."""
        path, affine = gc.get_clip_path()
        to_page = Affine2D().scale(1, -1).translate(0, self.figure.bbox.height).scale(self._scale)
        return _svg(path, affine + to_page) if path is not None else None

    def _look(self, kind, gc, fill, box):
        look = {"name": self._names[-1] if self._names else None}
        if box:
            left, top, right, bottom = self._places(box.corners()[[1, 2]]) / UNIT
            look["clip"] = [float(v) for v in (left, top, right - left, bottom - top)]
        if fill is not None:
            alpha = gc.get_alpha() if gc.get_forced_alpha() else None
            look["fill"] = to_hex((*fill[:3], alpha) if alpha is not None else fill, True)
        if kind in ("path", "marks") and gc.get_linewidth() and (*gc.get_rgb(), 1)[3]:
            pixel = self._scale * self.points_to_pixels(1)
            offset, dashes = gc.get_dashes()
            look["line"] = to_hex(gc.get_rgb(), keep_alpha=True)
            look["width"] = gc.get_linewidth() * pixel
            look["cap"] = CAPS.get(gc.get_capstyle(), gc.get_capstyle())
            look["join"] = gc.get_joinstyle()
            look["dashes"] = [dash * pixel for dash in dashes] if dashes is not None else []
            look["offset"] = (offset or 0) * pixel
        if kind == "path" and gc.get_hatch():
            tile = Affine2D().scale(CSS_DPI, -CSS_DPI).translate(0, CSS_DPI)
            look["hatch"] = {
                "shape": _svg(gc.get_hatch_path(), tile),
                "line": to_hex(gc.get_hatch_color(), keep_alpha=True),
                "width": gc.get_hatch_linewidth() * self._scale * self.points_to_pixels(1),
            }
        return look

    def _glyphs_of(self, text, prop, ismath):
        """For each character: the number of its outline, x, y and size in percent."""
        key = (text, ismath, hash(prop))
        if key not in self._known_words:
            if ismath:
                placed, outlines, lines = text_to_path.get_glyphs_mathtext(prop, text)
            else:
                font = get_font(findfont(prop))
                font.set_size(text_to_path.FONT_SCALE, text_to_path.DPI)
                placed, outlines, lines = text_to_path.get_glyphs_with_font(font, text)
            found = [
                (self._glyph(name, *outlines[name]), x, y, 100 * size)
                for name, x, y, size in placed
            ]
            found += [(self._glyph(str(line), *line), 0, 0, 100) for line in lines]
            size = prop.get_size_in_points() * CSS_DPI / 72 / text_to_path.FONT_SCALE
            glyphs = np.array(found, float).reshape(-1, 4) * (1, size * UNIT, -size * UNIT, 1)
            self._known_words[key] = np.rint(glyphs).clip(-FARTHEST, FARTHEST).ravel()
        return self._known_words[key]

    def _glyph(self, name, vertices, codes):
        if name not in self._known_glyphs:
            self._known_glyphs[name] = len(self.glyphs)
            self.glyphs = [*self.glyphs, _svg(Path(vertices, codes), Affine2D().scale(1, -1))]
        return self._known_glyphs[name]


def _count(things):
    """A number of things as two: there may be more than 16 bits can say."""
    return divmod(things, MOST + 1)


def _joined(parts):
    """The points of all parts of a path, and where each part starts: a staircase has many."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts[:-1])])


def _snaps(gc, points, starts):
    """Does matplotlib move these lines to whole pixels? Only those along x or y, by default."""
    if gc.get_snap() is not None:
        return bool(gc.get_snap())
    straight = (np.abs(np.diff(points, axis=0)) < 1e-4).any(1)
    straight[starts[1:] - 1] = True  # no line leads from one part to the next
    return len(points) <= 1024 and bool(straight.all())


def _svg(path, transform):
    """A path in the notation of SVG, which a page reads fastest."""
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    return "".join(
        "Z" if code == Path.CLOSEPOLY else letters[code] + " ".join(f"{v:.4g}" for v in vertices)
        for vertices, code in path.iter_segments(transform, simplify=False)
    )
