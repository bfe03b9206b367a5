"""Measure the installed torch into autograd_surprises/atlas/measured/, and write ATLAS.md.

python -m tools.atlas --page     only ATLAS.md, from the stored numbers
"""

import itertools
import sys

from autograd_surprises.atlas import CLASSES, Atlas, changes, describe, describe_tie, versions
from autograd_surprises.atlas.installed import survey
from autograd_surprises.atlas.record import FOLDER, as_text, stored
from tools.notebooks import ROOT

PAGE = ROOT / "ATLAS.md"
OPENING = """# The gradient atlas

What autograd returns for the elementwise operations of PyTorch at their kinks and jumps, at the \
edges of their domains, at 0, infinity and NaN. Everything is measured twice: the gradient by \
autograd, and the slope on either side by finite differences of the values. \
[Notebook 12](notebooks/12_gradient_atlas.ipynb) lets you search the atlas, zoom in on each \
operation and guess its gradients.

[What changed](#what-changed) · [Every operation of x](#every-operation-of-x) · \
[Several inputs at once](#several-inputs-at-once)

**How to read it.** `torch.relu(x)`: *at 0: 0, slopes 0 and 1, the left one; at nan: 1, value \
nan*. At x = 0 the gradient is 0. The values have slope 0 to the left and slope 1 to the right, so \
autograd returns the left one. At x = NaN the value is NaN, and the gradient is 1. *A hair below* \
and *a hair above* a number are the floating-point numbers next to it; next to 0, the smallest \
normal ones.

**What was measured.** The jumps and kinks between -8 and 8 (at most five of a staircase), and \
±100, ±1000, ±∞ and NaN. Each is a single float64 number unless the table says otherwise, on Linux \
with an {processor} processor, without a GPU. The search may miss kinks that are much smaller than \
the slope beside them. `make atlas` writes this page from \
[the numbers](autograd_surprises/atlas/measured).
"""
CHANGES = """## What changed

Every difference between each version of torch and the next. (64 numbers: in a tensor of 64, which \
goes through vector instructions. *Together*: all inputs move at once.)
"""
OPERATIONS = """## Every operation of x

In torch {version}. `F` is `torch.nn.functional`, `special` is `torch.special`; `zero`, `half`, \
`one`, `two` and `minus_one` are tensors. {count} operations, in these classes:
"""
TIES = """## Several inputs at once

In torch {version}. At ties, at zeros, at infinity: the gradient of each input, and of all of them \
moving together.
"""


def page(atlases: list[Atlas]) -> str:
    """The text of ATLAS.md, from all versions that were measured, oldest first."""
    newest = atlases[-1]
    operations = newest.operations
    parts = [
        OPENING.format(processor=newest.processor),
        CHANGES,
        table(changed(atlases)),
        OPERATIONS.format(version=newest.version, count=len(operations)),
    ]
    for name, meaning in CLASSES.items():
        count = sum(name in each.classes for each in operations.values())
        parts.append(f"- **{name}** ({count}): {meaning}")
    rows = [
        (_names(newest, name), ", ".join(each.classes), describe(each))
        for name, each in operations.items()
    ]
    parts += ["", table(rows, ("operation", "class", "gradient"))]
    rows = [
        (f"`{expression}`", inputs, describe_tie(each))
        for name, each in newest.ties.items()
        for expression, inputs in [name.split(" at ")]
    ]
    ties = table(rows, ("operation", "at", "gradient"))
    parts += [TIES.format(version=newest.version), ties]
    return "\n".join(parts)


def changed(atlases: list[Atlas]) -> list[tuple[str, ...]]:
    """The rows of each difference between a version and the next, the latest first."""
    return [
        (new.version, f"`{each.expression}`", each.points, each.what, each.before, each.after)
        for old, new in reversed(list(itertools.pairwise(atlases)))
        for each in changes(old, new)
    ]


def _names(numbers, expression):
    """The line of code, and the names of its aliases."""
    aliases = [alias.partition("(")[0] for alias in numbers.aliases.get(expression, [])]
    return ", ".join(f"`{name}`" for name in (expression, *aliases))


def table(rows, headings=("torch", "operation", "at", "what", "before", "since")) -> str:
    """These rows, in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    cells = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def main(arguments):
    if arguments not in ([], ["--page"]):
        sys.exit(__doc__)
    if not arguments:
        here = survey()
        file = FOLDER / f"torch-{here.version}.json"
        file.write_text(as_text(here), encoding="utf-8", newline="\n")
        print(f"{file.relative_to(ROOT)}: {len(here.operations)} operations")
        stored.cache_clear()
    PAGE.write_text(page(list(map(stored, versions()))), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
