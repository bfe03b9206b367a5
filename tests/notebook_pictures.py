"""Write down what the explorers of a notebook show, as strokes and as matplotlib draws it.

    python tests/notebook_pictures.py FOLDER NOTEBOOK ...

makes NAME.json for each explorer: the tables and the strokes of its settings, and what a page
without a kernel gets; and NAME-k.png: the k-th setting, drawn by matplotlib. It is a separate
process because notebooks change settings of torch and matplotlib, and one process for all because
importing takes longer than drawing.
"""

import base64
import gc
import json
import os
import random
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import matplotlib.pyplot as plt  # noqa: E402
import nbformat  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from PIL import Image  # noqa: E402

from helpers.widgets import freeze, freezing  # noqa: E402
from helpers.widgets.explorer import Explorer  # noqa: E402
from tools.notebooks import sections, setup_cell  # noqa: E402

# settings of each explorer, besides the first, the lowest and the highest
RANDOM = int(os.environ.get("RANDOM_SETTINGS", 3))


def explorers_of(notebook):
    """(name, explorer) of every section, while the names of its cells are there."""
    shell, made, init = InteractiveShell.instance(), [], Explorer.__init__

    def watched(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made.append(self)

    Explorer.__init__ = watched
    setup = setup_cell(notebook)
    for _, cells in sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code" and cell is not setup]
        exploring = [k for k, cell in enumerate(code) if "explore(" in cell.source]
        if not exploring:
            continue
        shell.reset(new_session=False)
        for cell in [setup, *code[: exploring[-1] + 1]]:
            made.clear()
            shell.run_cell(cell.source).raise_error()
            plt.close("all")
            yield from ((f"{cell.id}-{k}", explorer) for k, explorer in enumerate(made))
    Explorer.__init__ = init


def choices(control):
    if hasattr(control, "options"):
        return list(control.options)
    if not hasattr(control, "max"):
        return [False, True]
    steps = round((control.max - control.min) / control.step)
    return [min(control.min + k * control.step, control.max) for k in range(steps + 1)]


def settings(explorer, dice):
    every = {name: choices(control) for name, control in explorer.sliders.items()}
    yield explorer.values
    for _ in range(RANDOM):
        yield {name: dice.choice(values) for name, values in every.items()}
    for end in (0, -1):  # the highest comes last: a frozen page that starts there can slide down
        yield {name: values[end] for name, values in every.items()}


def write(explorer, name, folder, dice):
    picture, canvas = explorer.picture, explorer.figure.canvas
    shown, frame, background = [], None, None
    for values in settings(explorer, dice):
        explorer.set(**values)
        if picture.frame != frame:
            canvas.draw()  # leaves out what moves
            frame, background = picture.frame, canvas.copy_from_bbox(explorer.figure.bbox)
        canvas.restore_region(background)
        picture.paint_moving()
        image = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
        image.convert("RGB").save(folder / f"{name}-{len(shown)}.png", compress_level=1)
        sent = {key: getattr(picture, key) for key in ("axes", "handles", "words", "said", "size")}
        parts = {"frame": picture.frame, "moving": picture.moving}
        strokes = {key: base64.b64encode(part).decode() for key, part in parts.items()}
        shown.append({**sent, **strokes})
    tables = {"styles": picture.styles, "glyphs": picture.glyphs}
    tables["frozen"], tables["said"] = freeze(explorer), explorer.summary
    (folder / f"{name}.json").write_text(json.dumps({**tables, "shown": shown}))


if __name__ == "__main__":
    freezing.SETTINGS, freezing.FEWEST = 50, 2  # all would take minutes
    gc.freeze()  # or each reset of the shell would look through all that torch imports
    folder = Path(sys.argv[1]).resolve()
    for path in map(Path, sys.argv[2:]):
        os.chdir(path.resolve().parent)
        for name, explorer in explorers_of(nbformat.read(path.name, as_version=4)):
            write(explorer.fit(), f"{path.stem}-{name}", folder, random.Random(0))
