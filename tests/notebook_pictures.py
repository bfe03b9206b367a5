"""Write down what the explorers of a notebook show, as strokes and as matplotlib draws it.

    python tests/notebook_pictures.py FOLDER NOTEBOOK ...

makes NAME.json for each explorer: the strokes of its settings and the pixels that matplotlib
draws for each, one for each pixel of the page, and what a page without a kernel gets. It is a
separate process because notebooks change settings of torch and matplotlib, and one process for all
because importing takes longer than drawing.
"""

import base64
import json
import os
import random
import sys
import zlib
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nbformat  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402

from autograd_surprises.show import picture as pictures  # noqa: E402
from helpers.widgets import freeze, freezing  # noqa: E402
from helpers.widgets.controls import positions  # noqa: E402
from tools.website.recording import shown_by  # noqa: E402

RANDOM = 20  # settings of each explorer, besides the first, the lowest and the highest


def explores(cell):
    return "explore(" in cell.source


def settings(explorer, dice):
    every = {name: positions(control) for name, control in explorer.sliders.items()}
    yield explorer.values
    for _ in range(RANDOM):
        yield {name: dice.choice(values) for name, values in every.items()}
    for end in (0, -1):  # the highest comes last: a frozen page that starts there can slide down
        yield {name: values[end] for name, values in every.items()}


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
            shown.append(
                {
                    **{key: getattr(picture, key) for key in ("axes", "words", "said", "size")},
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
        "said": explorer.summary,
    }


def in_base64(content):
    return base64.b64encode(content).decode()


def ends_and_middle(control, most=None):
    return positions(control, freezing.FEWEST)


if __name__ == "__main__":
    pictures.PIXEL_RATIO = 1
    pictures.Picture.png = lambda self: b""  # what a notebook stores is drawn in `make nb`
    # All settings would take minutes. If an explorer has too many, freezing keeps at least these.
    freezing.positions = ends_and_middle
    InteractiveShell.instance().ast_node_interactivity = "none"  # nobody sees what cells display
    folder = Path(sys.argv[1]).resolve()
    for path in map(Path, sys.argv[2:]):
        os.chdir(path.resolve().parent)
        for cell, explorer in shown_by(nbformat.read(path.name, as_version=4), explores):
            content = json.dumps(written(explorer.fit(), random.Random(0)))
            (folder / f"{path.stem}-{cell.id}.json").write_text(content)
