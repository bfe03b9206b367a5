"""Run the sections that have an explorer, each after the setup cell alone, and move the explorers.

    python tests/notebook_pictures.py FOLDER EXPECTED NOTEBOOK ...

makes NOTEBOOK-CELL.json in FOLDER for each explorer: the strokes of its settings and the pixels
that matplotlib draws for each, one for each pixel of the page, and what a page without a kernel
gets. Each control reaches both of its ends and all of its choices. faults.json lists, for each
notebook, sections and explorers that fail, and explorers that say something else than EXPECTED,
which has the form of explorers.toml.

It is a separate process because notebooks change settings of torch and matplotlib, and one process
for all because importing takes longer than drawing.
"""

import base64
import itertools
import json
import math
import os
import random
import re
import sys
import zlib
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ipywidgets  # noqa: E402
import nbformat  # noqa: E402
import numpy as np  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from matplotlib.backend_bases import RendererBase  # noqa: E402
from matplotlib.backends.backend_agg import RendererAgg  # noqa: E402

from autograd_surprises.show import picture as pictures  # noqa: E402
from helpers.explore import freeze, freezing  # noqa: E402
from helpers.explore.controls import positions, stands_beside  # noqa: E402
from helpers.explore.player import Player  # noqa: E402
from tools.website.recording import shown_by  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPLORER = re.compile(r"\b(explore|explore_backward)\(")
# Random settings of each explorer, besides the first, the lowest and the highest. A menu with more
# choices gets more of them.
RANDOM = 6
LAPTOP, ROOM = 779, 968  # pixels of a notebook that are seen at once in a window of 1400 × 900
WIDE = {Player: 400, ipywidgets.Dropdown: 300, ipywidgets.Button: 148, ipywidgets.Widget: 230}


def explores(cell):
    return EXPLORER.search(cell.source) is not None


def settings(explorer, dice):
    every = {name: positions(control) for name, control in explorer.sliders.items()}
    yield explorer.values
    choices = [len(every[name]) for name, made in explorer.sliders.items() if not is_slider(made)]
    for k in range(max([RANDOM, *choices])):
        yield {
            name: dice.choice(values)
            if is_slider(explorer.sliders[name])
            else values[k % len(values)]
            for name, values in every.items()
        }
    for end in (0, -1):  # the highest comes last: a frozen page that starts there can slide down
        yield {name: values[end] for name, values in every.items()}


def is_slider(control):
    return not isinstance(control, (ipywidgets.Checkbox, ipywidgets.Dropdown))


def faults_of(explorer, expected):
    """Where its summary has not the expected words: [(what to change first, words), ...].

    Its buttons are tried, too.
    """
    start = explorer.values
    tried = [(values, "") for row in explorer.tries.values() for _, values in row]
    for values, words in [*expected, *tried]:
        explorer.set(**start | values)
        if words not in explorer.summary:
            yield f"at {values}, it says {explorer.summary!r}, not {words!r}"
    explorer.set(**start)


def written(explorer, dice):
    picture, canvas = explorer.picture, explorer.figure.canvas
    shown, backgrounds = [], {}
    with picture.one_table():
        for values in settings(explorer, dice):
            explorer.set(**values)
            if picture.frame not in backgrounds:
                canvas.draw()  # leaves out what moves
                backgrounds[picture.frame] = canvas.copy_from_bbox(explorer.figure.bbox)
            canvas.restore_region(backgrounds[picture.frame])
            picture.paint_moving()
            lost = lost_on_a_phone(canvas.buffer_rgba(), picture.parts)
            assert not lost, (
                f"a phone shows only parts of the picture, without {lost} of its pixels"
            )
            shown.append(
                {
                    **{key: getattr(picture, key) for key in ("axes", "words", "summary", "size")},
                    "frame": list(backgrounds).index(picture.frame),
                    "moving": in_base64(picture.moving),
                    "pixels": in_base64(zlib.compress(canvas.buffer_rgba(), 1)),
                }
            )
    return {
        "shown": shown,
        "frames": list(map(in_base64, backgrounds)),
        **{key: getattr(picture, key) for key in ("styles", "glyphs", "handles")},
        "frozen": freeze(explorer),
        "summary": explorer.summary,
    }


def height_on_a_laptop(explorer, lines):
    """Pixels from the top of a cell with so many visible lines of code to the end of its controls.

    As JupyterLab lays it out; tests/browser measures one cell of each kind.
    """
    width, height = explorer.picture.size
    texts = [[label, *(text for text, _ in row)] for label, row in explorer.tries.items()]
    lines_of_tries = sum(math.ceil(sum(28 + 7 * len(text) for text in row) / ROOM) for row in texts)
    top = 20 + 18.2 * lines + 32 * lines_of_tries
    *_, rows, message = explorer.children
    if stands_beside(explorer.picture.size):  # in the middle
        return top + (height + 20 + 32 * len(rows.children)) / 2
    used, below = 0, 1
    for control in rows.children:
        wide = next(pixels for kind, pixels in WIDE.items() if isinstance(control, kind))
        if used + wide > width:
            used, below = 0, below + 1
        used += wide
    return top + height + 20 + 32 * below


def too_tall(cell, explorer):
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
    height = height_on_a_laptop(explorer, 1 if hidden else len(cell.source.splitlines()))
    if height > LAPTOP:
        yield f"cell {cell.id}: its code, picture and controls take {height:.0f} of {LAPTOP} pixels"


def lost_on_a_phone(pixels, parts):
    """How many pixels have ink, but lie in no part of the picture."""
    ink = (np.asarray(pixels)[..., :3] < 255).any(axis=2)
    for x, y, width, height, *_ in itertools.chain(*parts):
        ink[math.floor(y) : math.ceil(y + height), math.floor(x) : math.ceil(x + width)] = False
    return int(ink.sum())


def in_base64(content):
    return base64.b64encode(content).decode()


def ends_and_middle(control, most=None):
    return positions(control, freezing.FEWEST)


def record(path, folder, expected):
    """Write the files of a notebook, and return its faults."""
    faults, expected = [], dict(expected)
    notebook = nbformat.read(path, as_version=4)
    try:
        for cell, explorer in shown_by(notebook, explores, to_its_end=True):
            known = expected.pop(cell.id, {"settings": []})["settings"]
            try:
                faults += [f"cell {cell.id} {fault}" for fault in faults_of(explorer, known)]
                faults += too_tall(cell, explorer)
                content = json.dumps(written(explorer, random.Random(0)))
            except Exception as error:
                faults.append(f"cell {cell.id} at {explorer.values}: {error!r}")
            else:
                (folder / f"{path.stem}-{cell.id}.json").write_text(content)
    except RuntimeError as error:
        return [*faults, str(error)]
    return faults + [f"cell {gone} shows no explorer" for gone in expected]


if __name__ == "__main__":
    pictures.PIXEL_RATIO = 1
    # Letters as outlines, which a page draws, too. Those of Agg are fitted to whole pixels.
    RendererAgg.draw_text = RendererBase.draw_text
    pictures.Picture.png = lambda self, below="": (
        b""
    )  # what a notebook stores is drawn in `make nb`
    # All settings would take minutes. If an explorer has too many, freezing keeps at least these.
    freezing.positions = ends_and_middle
    InteractiveShell.instance().ast_node_interactivity = "none"  # nobody sees what cells display
    folder, summaries, *paths = [Path(argument).resolve() for argument in sys.argv[1:]]
    expected, faults = tomllib.loads(summaries.read_text(encoding="utf-8")), {}
    for path in paths:
        os.chdir(path.parent)
        faults[path.stem] = record(path, folder, expected.get(path.stem, {}))
    (folder / "faults.json").write_text(json.dumps(faults))
