"""What a page shows is what matplotlib draws, and its colours can be told from the paper."""

import base64
import json
import re
import zlib

import numpy as np
from matplotlib.patches import Circle, Rectangle

from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.picture import PIXEL_RATIO, Picture

from .lab import picture_of

PERCENT, LEVELS = 0.5, 64  # so many pixels may differ by more levels than that
LARGEST = 400_000  # bytes of one frozen explorer
TEXT, LINE = 4.5, 3  # contrasts
TINT, TINT_ON_DARK = 1.2, 1.35  # of areas that only have to be seen
IMAGES = (
    "24_hooks-cam-explorer",
    "29_three_patches-sharper-explorer",
)  # on whose cells no number stands
MARK = 40  # what is wider, in pixels, is an area
DECORATION = ("#dddddd", "#ffffff")  # the grid, and the rim that sets marks apart

# For each of the pictures in `shown`, the percentage of pixels that differ by more than `levels`
# from the pixels that came with it.
COMPARE = """async ([{shown, frames, ...tables}, levels]) => {
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const numbers = text => new Int16Array(bytes(text).buffer);
  const inflated = text => new Response(
    new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
  const place = document.body.appendChild(document.createElement('div'));
  const picture = new window.strokes.StrokePicture(place, shown[0].size);
  const backs = frames.map(numbers), percentages = [];
  for (const {frame, moving, pixels, ...about} of shown) {
    picture.show({...tables, ...about, frame: backs[frame], moving: numbers(moving)});
    const {width, height} = picture.canvas, right = new Uint8Array(await inflated(pixels));
    const seen = picture.context.getImageData(0, 0, width, height).data;
    const far = i => Math.abs(seen[i] - right[i]) > levels;
    let apart = seen.length === right.length ? 0 : seen.length / 4;
    for (let i = 0; i < seen.length; i += 4) if (far(i) || far(i + 1) || far(i + 2)) apart++;
    percentages.push(400 * apart / seen.length);
  }
  picture.dispose();
  place.remove();
  return percentages;
}"""
# The text of a frozen explorer, live from the same module: at the start, and at the first value of
# each control.
FROZEN = """async frozen => {
  const place = document.body.appendChild(document.createElement('div'));
  const picture = await window.strokes.showFrozen(place, frozen), said = [];
  said.push(picture.canvas.getAttribute('aria-label'));
  for (const control of place.querySelectorAll('input[type=range]')) {
    control.value = 0;
    control.dispatchEvent(new Event('input'));
  }
  said.push(place.querySelector(':scope > [role]').textContent);
  picture.dispose();
  place.remove();
  return said;
}"""
# Contrast by the formula of WCAG 2: of each colour with the paper, as it looks when painted there,
# and of the ink with it.
CONTRASTS = """([colours, page]) => {
  const map = window.strokes.colourMap(page), context = new OffscreenCanvas(1, 1).getContext('2d');
  const to_linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = (...painted) => {
    for (const colour of painted) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    return 0.2126 * to_linear(r / 255) + 0.7152 * to_linear(g / 255) + 0.0722 * to_linear(b / 255);
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = luminance(map('#ffffff')), ink = luminance(map('#000000'));
  return colours.map(colour => {
    const own = luminance(map('#ffffff'), map(colour));
    return [ratio(own, paper), ratio(own, ink)];
  });
}"""
PAGES = {  # JupyterLab's colours, and those of a page without any
    "white": {"paper": [1, 1, 1], "ink": [0, 0, 0]},
    "JupyterLab Light": {"paper": [1, 1, 1], "ink": [0.13, 0.13, 0.13]},
    "JupyterLab Dark": {"paper": [0.067, 0.067, 0.067], "ink": [1, 1, 1]},
    "dark": {"paper": [0.067, 0.067, 0.067], "ink": [0.91, 0.91, 0.91]},
}


def test_artists_that_no_explorer_has_are_drawn_as_matplotlib_does(open_empty):
    page = open_empty(device_scale_factor=PIXEL_RATIO)
    ax = Picture(6, 4).subplots()
    many = np.linspace(0, 1, 40_000)
    ax.fill(many, 0.7 + 0.3 * (many * 40 % 1), color="0.8")
    for k, colour, width in ((0, "red", 1), (1, "blue", 1), (2, "blue", 4)):
        patch = ax.add_patch(Rectangle((k / 3, 0), 0.3, 0.3, fill=False, hatch="/"))
        own = hasattr(patch, "set_hatchcolor")  # before matplotlib 3.11, a hatch is as the edge
        patch.set(**{"hatchcolor" if own else "edgecolor": colour, "hatch_linewidth": width})
    ax.fill([0.2, 0.5, 0.8], [0.3, 300, 0.3], color="tan")  # far beyond the picture
    ax.set_ylim(0, 1)
    for height, dashes in ((0.4, "--"), (0.5, ":"), (0.6, (2.5, (4, 1)))):
        ax.plot([0, 1], [height, height], ls=dashes, lw=8)
    ax.plot([0.1, 0.2, 0.3], [0.5, 0.8, 0.5], lw=30, solid_joinstyle="bevel")
    (line,) = ax.plot([0, 1], [0, 1], lw=30)
    line.set_clip_path(Circle((0.5, 0.5), 0.2, transform=ax.transData))
    ax.invert_xaxis()
    picture = LivePicture(ax.figure)
    picture.paint()
    picture.refresh()
    tables, shown = picture_of(picture)
    pixels = base64.b64encode(zlib.compress(ax.figure.canvas.buffer_rgba())).decode()
    one = {**tables, "frames": [shown["frame"]], "shown": [{**shown, "frame": 0, "pixels": pixels}]}
    assert page.evaluate(COMPARE, [one, LEVELS])[0] <= PERCENT


def needed_contrasts(styles, tint):
    """{colour: the contrasts that it has to have with the paper and with the ink}."""
    needed = {}
    for style in styles:
        line, fill, kind = style.get("line"), style.get("fill"), style["kind"]
        pairs = [(line, (LINE, 0))]
        if kind == "cell":  # a number may stand on it
            pairs.append((fill, (0, TEXT)))
        elif fill and not fill.endswith("00", 7):
            is_area = kind == "path" or (kind == "marks" and width_of(style["shape"]) > MARK)
            pairs.append((fill, (TEXT if kind == "text" else tint if is_area else LINE, 0)))
        for colour, at_least in pairs:
            if colour and not (colour.startswith(DECORATION) and kind != "cell"):
                before = needed.get(colour, (0, 0))
                needed[colour] = tuple(map(max, before, at_least))
    return needed


def width_of(shape):
    """Of an SVG path: about its width, or its height if that is more."""
    numbers = [float(number) for number in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", shape)]
    return max(numbers) - min(numbers)


def test_a_page_shows_what_matplotlib_draws_in_colours_that_can_be_seen(open_empty, pictures):
    """One test, because writing the pictures down takes longer than looking at them."""
    assert len(pictures) >= 18
    page, wrong, styles = open_empty(), {}, []
    for file in pictures:
        written = json.loads(file.read_text())
        styles += [
            style
            for style in written["styles"]
            if style["kind"] != "cell" or file.stem not in IMAGES
        ]
        frozen, summary = written.pop("frozen"), written.pop("summary")
        start, lowest = page.evaluate(FROZEN, frozen)
        moved = any("numbers" in c and c["start"] for c in frozen["controls"])
        if start != summary or (lowest == summary and moved):
            wrong[f"{file.stem}, frozen"] = start, lowest
        if len(json.dumps(frozen)) > LARGEST:
            wrong[f"{file.stem}, frozen"] = len(json.dumps(frozen))
        found = page.evaluate(COMPARE, [written, LEVELS])
        for shown, percent in zip(written["shown"], found, strict=True):
            if percent > PERCENT:
                wrong[f"{file.stem}: {shown['summary']}"] = round(percent, 2)
    for theme, colours in PAGES.items():
        needed = needed_contrasts(styles, TINT_ON_DARK if "ark" in theme else TINT)
        found = page.evaluate(CONTRASTS, [list(needed), colours])
        for (colour, at_least), contrasts in zip(needed.items(), found, strict=True):
            if any(got < least - 0.02 for got, least in zip(contrasts, at_least, strict=True)):
                wrong[f"{colour} in {theme}"] = contrasts, at_least
    assert wrong == {}
