"""Operations of an atlas, searched by name and by class."""

from autograd_surprises.atlas.classes import CLASSES, Measured
from autograd_surprises.atlas.description import describe
from autograd_surprises.atlas.elementwise_operations import WELL_KNOWN
from autograd_surprises.atlas.installed import atlas
from autograd_surprises.atlas.record import Atlas
from autograd_surprises.show.table import Table


def select(numbers: Atlas, search: str = "", of_class: str = "") -> list[Measured]:
    """The operations of x with all words of `search` in their names, of a class ("" for any).

    An exact match comes first, then the well-known ones.

    >>> [each.expression for each in select(atlas("2.13"), "relu")][:2]
    ['torch.relu(x)', 'F.leaky_relu(x)']
    """
    exact, others = [], []
    words = search.lower().split()
    for name in sorted(numbers.operations, key=_place):
        measured = numbers.operations[name]
        names = [each.lower() for each in (name, *numbers.aliases.get(name, []))]
        if of_class and of_class not in measured.classes:
            continue
        if all(word in " ".join(names) for word in words):
            called = {each.partition("(")[0].partition(".")[2] for each in names}
            (exact if called & {*words} else others).append(measured)
    return exact + others


def _place(name):
    return WELL_KNOWN.index(name) if name in WELL_KNOWN else len(WELL_KNOWN)


def atlas_table(search: str = "", of_class: str = "", version: str | None = None) -> Table:
    """Operations and what happens to their gradients: those with `search` in a name, of a class.

    `version` is a measured torch version, by default the installed one. Raises ValueError for an
    unknown class, and where nothing is found.

    >>> atlas_table("i0e", version="2.13")
    operation       class  what happens
    special.i0e(x)  kink   at 0: 0, slopes 1 and -1, their mean
    """
    same = [name for name in CLASSES if name.casefold() == of_class.casefold()]
    if of_class and not same:
        raise ValueError(f"{of_class!r} is not a class; the classes are: {', '.join(CLASSES)}")
    rows = {
        each.expression: {"class": ", ".join(each.classes), "what happens": describe(each)}
        for each in select(atlas(version), search, *same)
    }
    if not rows:
        in_class = f" and the class {of_class!r}" if of_class else ""
        raise ValueError(f"no operation has {search!r} in its name{in_class}")
    return Table.of(rows, corner="operation")
