"""Measure the installed torch, and write the gradient atlas as a page.

    python tools/atlas.py            into autograd_surprises/atlas/measured/, and ATLAS.md anew
    python tools/atlas.py --page     only ATLAS.md, from what was measured

tests/atlas/test_record.py compares both with the files.
"""

import hashlib
import itertools
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograd_surprises.atlas import CLASSES, Change, changes, classes, describe, describe_tie  # noqa: E402
from autograd_surprises.atlas.record import FOLDER, Atlas, as_text, load, measured_here, versions  # noqa: E402

PAGE = ROOT / "ATLAS.md"
OPENING = """# The gradient atlas

What autograd returns for the elementwise operations of PyTorch at their kinks, jumps and borders, \
at 0, infinity and NaN: measured, not quoted. Two measurements stand side by side: the gradient, \
and the slope that finite differences of the values have on either side. \
[Notebook 09](notebooks/09_gradient_atlas.ipynb) lets you search it, look at each operation and \
guess its gradients.

[What changed](#what-changed) · [Every operation of x](#every-operation-of-x) · \
[Several inputs at once](#several-inputs-at-once) · [The files](#the-files)

**How to read it.** `torch.relu(x)`: *at 0: 0, slopes 0 and 1, the left one; at nan: 1, value \
nan*. At x = 0 the gradient is 0. The values have slope 0 to the left of it and slope 1 to the \
right, so autograd picked the left one. Of NaN, relu is NaN, and its gradient is 1. *A hair below* \
and *a hair above* a number is the next floating-point number; beside 0, the smallest normal one.

**What was looked at.** Jumps and kinks between -8 and 8 (of a staircase, five), and ±100, ±1000, \
±∞ and NaN. One number in float64, unless something else is said, on Linux with an {processor} \
processor, without a GPU. Kinks much smaller than the slope beside them may be missed. The page is \
made from [the numbers](autograd_surprises/atlas/measured) by `make atlas`.
"""
CHANGES = """## What changed

From each version of torch to the next, everything that was measured. (64 numbers: in a tensor of \
64, which goes through vector instructions. *Together*: all inputs are moved at once.)
"""
OPERATIONS = """## Every operation of x

In torch {version}. `F` is `torch.nn.functional`, `special` is `torch.special`; `zero`, `half`, \
`one`, `two` and `minus_one` are tensors. {count} operations, in these classes:
"""
FILES = """## The files

The checksums are those of the numbers, without the notes. A file that no longer has its checksum \
was changed after this page was made.
"""
TIES = """## Several inputs at once

In torch {version}. At ties, at zeros, at infinity: the gradient of each input, and of all of them \
moved together.
"""


def page(atlases: list[Atlas]) -> str:
    """The text of ATLAS.md, from all versions that were measured, oldest first."""
    newest = atlases[-1]
    parts = [OPENING.format(processor=newest.processor), CHANGES, _changes(atlases)]
    count = len(newest.elementwise)
    parts.append(OPERATIONS.format(version=newest.version, count=count))
    found = {call: classes(e.backward, e.probes) for call, e in newest.elementwise.items()}
    sizes = {name: sum(name in each for each in found.values()) for name in CLASSES}
    parts += [f"- **{name}** ({sizes[name]}): {means}" for name, means in CLASSES.items()] + [""]
    rows = [
        (f"`{call}`" + _also(newest.also.get(call, [])), ", ".join(found[call]), describe(each))
        for call, each in newest.elementwise.items()
    ]
    parts.append(_table(("operation", "class", "gradient"), rows))
    parts.append(TIES.format(version=newest.version))
    rows = [
        (f"`{call}`", where, describe_tie(each))
        for name, each in newest.ties.items()
        for call, where in [name.split(" at ")]
    ]
    parts.append(_table(("operation", "at", "gradient"), rows))
    rows = [
        (each.version, str(len(each.elementwise)), str(len(each.ties)), f"`{checksum(each)}`")
        for each in reversed(atlases)
    ]
    parts += [FILES, _table(("torch", "operations of x", "ties", "SHA-256"), rows)]
    return "\n".join(parts)


def _changes(atlases):
    rows = []
    for old, new in reversed(list(itertools.pairwise(atlases))):
        rows += [(new.version, *_change(change)) for change in changes(old, new)]
    return _table(("torch", "operation", "at", "what", "before", "since"), rows)


def checksum(numbers: Atlas) -> str:
    """Of the numbers, without the notes."""
    return hashlib.sha256(as_text(numbers, notes=False).encode()).hexdigest()


def _change(change: Change):
    return f"`{change.call}`", change.points, change.what, change.before, change.after


def _also(names):
    return "".join(f", `{name.partition('(')[0]}`" for name in names)


def _table(headings, rows):
    lines = [headings, ["---"] * len(headings), *rows]
    cells = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def main(arguments):
    if arguments not in ([], ["--page"]):
        sys.exit(__doc__)
    if not arguments:
        here = measured_here()
        file = FOLDER / f"torch-{here.version}.json"
        file.write_text(as_text(here), encoding="utf-8", newline="\n")
        print(f"{file.relative_to(ROOT)}: {len(here.elementwise)} operations")
        load.cache_clear()
    PAGE.write_text(page(list(map(load, versions()))), encoding="utf-8", newline="\n")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
