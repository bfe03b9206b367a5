"""Small notebooks of sections with and without faults."""

import itertools

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

EXPLORE = "explore(lambda x, a, b: a * x, a=(1.0, 3.0, 0.5), b=['in', 'out'])"
FRAGILE = "explore(lambda x, a=2.0: missing if a == {} else a * x, a=(1.0, 3.0, 0.01){})"
IN_NO_PART = """
from matplotlib.lines import Line2D
explorer = explore(lambda x, k: k * x, k=(0.0, 1.0))
explorer.figure.add_artist(Line2D([0.1, 0.3], [0.97, 0.97]))  # beside its title
explorer
"""
WITHOUT_FAULT = {
    "Names": ["x = torch.ones(2)", "print(x)\ndisplay(x)"],
    "Figure": ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"],
    "Later": ["def f():\n    return g(h=[i for i in range(2)])", "def g(h):\n    return h"],
    "Class": ["class A:\n    n = 1\n    m = n\n\n    def f(self):\n        return A"],
    "Await": ["import asyncio\nawait asyncio.sleep(0)"],
    "Explorer": [EXPLORE, "print('afterwards')"],
}
WITH_A_FAULT = {  # each in a notebook of its own
    "fails": ["explore(torch.sin, b=(0.0, 1.0))"],
    "fails_afterwards": [EXPLORE, "1 / 0"],
    "fails_at_an_end": [FRAGILE.format(3.0, "")],
    "says_something_else": [EXPLORE],
    "fails_where_a_button_leads": [FRAGILE.format(1.57, ", tries={'a': [1.57]}")],
    "shows_no_explorer": ["print('none')"],
    "has_ink_in_no_part": [IN_NO_PART],
}
EXPECTED = """
[without_fault.cell-8]
settings = [[{ a = 3.0 }, "value -9 to 9"]]
[says_something_else.cell-1]
settings = [[{}, "value -6 to 6"], [{ a = 3.0, b = "out" }, "value -8 to 8"]]
[shows_no_explorer.cell-1]
settings = [[{}, "value"]]
"""


def write(folder, sections, name="sample"):
    """A notebook with a setup cell and these sections: {heading: sources}."""
    setup = "import torch\nfrom helpers.explore import explore"
    cells = [new_markdown_cell("# Sample?"), new_code_cell(setup, id="setup")]
    names = (f"cell-{count}" for count in itertools.count(1))
    for heading, sources in sections.items():
        cells.append(new_markdown_cell(f"## {heading}"))
        cells += [new_code_cell(source, id=next(names)) for source in sources]
    nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    return folder / f"{name}.ipynb"
