"""Which way of writing an operation supports what, in the versions of torch that were measured."""

import json
from importlib.resources import files

from autograd_surprises.show.colours import GREEN, GREY, RED
from lessons.drawings.panel import PanelDrawing

MEASURED = json.loads(files("lessons").joinpath("measured/operators.json").read_text("utf-8"))
NEEDS = {
    "double backward": "a gradient of a gradient",
    "vmap": "vmap",
    "vmap(grad)": "torch.func.grad of each row",
    "jvp": "forward mode",
    "compile(aot_eager)": "torch.compile",
    "compile(grad)": "torch.compile of torch.func.grad",
    "compile(jvp)": "torch.compile of forward mode",
}
MARKS = {
    "works": ("✓ works", GREEN),
    "refused": ("– an error", GREY),
    "silently wrong": ("✗ silently wrong", RED),
}


class SupportDrawing(PanelDrawing):
    """A mark for each way and need; the chosen need stands out.

    >>> SupportDrawing().show(torch="2.13.0", need="forward mode").partition(": ")[2]
    'Function an error, Function with jvp works, custom_op silently wrong, C++ an error'
    """

    name = "Who can do what?"

    def __init__(self):
        newest = list(MEASURED)[-1]
        ways = list(MEASURED[newest]["cards"])
        (ax,) = self.panels(8, 3.4, "", grid="")
        (band,) = ax.barh(0, len(ways), 0.86, left=-0.5, fc="white", ec="black", lw=1.2)
        self._band = self.add(band)
        ax.set(xlim=(-0.5, len(ways) - 0.5), ylim=(len(NEEDS) - 0.5, -0.5), navigate=False)
        ax.set_yticks(range(len(NEEDS)), NEEDS.values())
        ax.set_xticks(range(len(ways)), ways)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        self._marks = {
            (need, way): self.words(ax, x, y, fontsize=10)
            for y, need in enumerate(NEEDS)
            for x, way in enumerate(ways)
        }

    def show(self, torch="2.13.0", need="forward mode"):
        cards = MEASURED[torch]["cards"]
        for (row, way), text in self._marks.items():
            mark, colour = MARKS[cards[way][row]]
            text.set(text=mark, color=colour)
        chosen = list(NEEDS.values()).index(need)
        self._band.set_y(chosen - 0.43)
        row = list(NEEDS)[chosen]
        says = [f"{way} {MARKS[card[row]][0][2:]}" for way, card in cards.items()]
        return f"torch {torch}, {need}: {', '.join(says)}"
