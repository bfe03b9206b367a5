"""Run each section of some notebooks that has an explorer, after the setup cell alone.

    python tests/run_sections.py NOTEBOOK ...

prints, as JSON, for each notebook the sections that fail and the sliders that no cell moves far
enough. It is a separate process because notebooks change settings of torch and matplotlib, and
one process for all because importing takes longer than moving sliders. Nothing is drawn: that
takes longest, and `make nb` draws it all.
"""

import contextlib
import gc
import json
import os
import sys
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import matplotlib.pyplot as plt  # noqa: E402
import nbformat  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: E402

from autograd_surprises.show.live_picture import LivePicture  # noqa: E402
from autograd_surprises.show.picture import Picture  # noqa: E402
from helpers.widgets import explorer  # noqa: E402
from tools.notebooks import sections, setup_cell  # noqa: E402


def watch_explorers():
    """A list to which each new Explorer adds itself and the values that its sliders take."""
    made, init = [], explorer.Explorer.__init__

    def watched(self, *args, **kwargs):
        init(self, *args, **kwargs)
        values = {name: [slider.value] for name, slider in self.sliders.items()}
        for name, slider in self.sliders.items():
            slider.observe(lambda change, name=name: values[name].append(change["new"]), "value")
        made.append((self.sliders, values))

    explorer.Explorer.__init__ = watched
    return made


def missed(slider, values):
    """What a slider can show but did not: its ends, or some of its choices."""
    if hasattr(slider, "options"):
        left = len(slider.options) - len(set(map(repr, values)))
        return [f"{left} of its options"] if left else []
    ends = (slider.min, slider.max) if hasattr(slider, "max") else (False, True)
    return [end for end in ends if end not in values]


def run(notebook, explorers):
    shell = InteractiveShell.instance()
    setup = setup_cell(notebook)
    failures, lazy = [], []
    for heading, cells in sections(notebook):
        if not any("explore(" in cell.source for cell in cells):
            continue
        shell.reset(new_session=False)
        explorers.clear()
        for cell in [setup, *(c for c in cells if c.cell_type == "code" and c is not setup)]:
            result = shell.run_cell(cell.source)
            plt.close("all")
            if not result.success:
                error = result.error_in_exec or result.error_before_exec
                where = f"section {heading!r}, cell {cell.id}"
                failures.append(f"{where}, run after the setup cell alone: {error!r}")
                break
        for sliders, values in explorers:
            for name, slider in sliders.items():
                if left := missed(slider, values[name]):
                    lazy.append(f"section {heading!r}: no cell sets the slider {name!r} to {left}")
    return {"failures": failures, "lazy": lazy}


if __name__ == "__main__":
    explorers, reports = watch_explorers(), {}
    LivePicture.refresh = LivePicture.paint = lambda self: None
    ConstrainedLayoutEngine.execute = lambda self, figure: None
    Picture.png = lambda self: b""
    gc.freeze()  # or each reset of the shell would look through all that torch imports
    with contextlib.redirect_stdout(sys.stderr):
        for path in map(os.path.abspath, sys.argv[1:]):
            os.chdir(os.path.dirname(path))
            reports[path] = run(nbformat.read(path, as_version=4), explorers)
    print(json.dumps(reports))
