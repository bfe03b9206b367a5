"""Two recorded runs, compared: same up to rounding, or where they part."""

import json
from pathlib import Path
from statistics import median

from autograd_surprises.comparing.alignment import aligned
from autograd_surprises.comparing.compared import DIFFER, SAME, UNDECIDED, Compared, share
from autograd_surprises.comparing.distance import TIMES
from autograd_surprises.comparing.recorded_run import FORMAT
from autograd_surprises.comparing.signs import norm_of_difference
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import Sentence, listed


def read_run(file: str | Path) -> dict:
    """A recorded run. Raises ValueError if the file does not hold one."""
    try:
        run = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{file} is no recorded run: it holds no JSON") from error
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise ValueError(
            f"{file} is no run recorded by this version: python -m autograd_surprises compare "
            f"--record {file} train.py writes one"
        )
    return run


def compare_runs(a: dict, b: dict) -> Compared:
    """Say where two recorded runs part.

    Raises ValueError if they are runs of different models.

    >>> from contextlib import suppress
    >>> from autograd_surprises.comparing.recorded_run import RecordedRun
    >>> with suppress(SystemExit), RecordedRun() as run:
    ...     torch.nn.Linear(2, 1)(torch.ones(3, 2)).sum().backward()
    >>> print(compare_runs(run.data, run.data).sentence)
    the gradients of all 2 parameters are the same
    """
    names = [{each["name"]: each for each in run["parameters"]} for run in (a, b)]
    _expect_same_model(*names)
    about = _about(a, b)
    for what, pairs in (
        ("the parameters", [(names[0][n]["start"], names[1][n]["start"]) for n in names[0]]),
        ("what the model is called with", list(zip(a["batch"], b["batch"], strict=False))),
    ):
        apart = max((_relative(*pair) for pair in pairs), default=0.0)
        if apart > 0:
            text = (
                f"{what} differ before the step, by about {share(apart)}: start both runs from the "
                "same checkpoint and batch"
            )
            return Compared(UNDECIDED, text, (), losses=tuple(about))
    found = [_Difference(name, names[0][name], names[1][name]) for name in names[0]]
    beyond = [each for each in found if each.apart > TIMES * each.floor]
    if not beyond:
        return Compared(SAME, _same(found), (), losses=tuple(about))
    first, others = beyond[0], listed([each.name for each in beyond[1:]], most=3)
    sentence = (
        f"{first.name} is the first parameter in backward whose gradient differs by more than "
        + (f"rounding; so do {others}" if others else "rounding, and the only one")
    )
    unknown = a["unknown"] or b["unknown"]
    if unknown:
        text = (
            f"the gradient of {first.name} differs by about {share(first.relative(first.apart))} "
            f"of its size; how much of it is rounding is not known, because {unknown}"
        )
        return Compared(UNDECIDED, text, (), losses=tuple(about))
    text = (
        f"about {share(first.relative(first.apart))} of its size, rounding errors "
        f"{share(first.relative(first.floor))}; its norm is {few_digits(first.norms[0])} in a, "
        f"{few_digits(first.norms[1])} in b"
    )
    also = ((first.name, text), *_first_operation(a, b))
    return Compared(DIFFER, sentence, (), losses=tuple(about), also=also)


class _Difference:
    """About how far apart the gradients of one parameter are, and how large rounding errors are."""

    def __init__(self, name, a, b):
        self.name = name
        self.norms = [run["gradient"]["norm"] for run in (a, b)]
        self.apart = norm_of_difference(a["gradient"]["sums"], b["gradient"]["sums"])
        self.rounding = max(a["rounding"], b["rounding"])
        self.floor = self.rounding * max(self.norms)

    def relative(self, number):
        return number / self.norms[0] if self.norms[0] else number


def _expect_same_model(a, b):
    for one, other, which in ((a, b, "first"), (b, a, "second")):
        only = [name for name in one if name not in other]
        if only:
            raise ValueError(
                f"these are runs of different models, or losses: only the {which} has a gradient "
                f"for {listed(only, most=3)}"
            )
    for name in a:
        shapes = [tuple(run[name]["gradient"]["shape"]) for run in (a, b)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name} has the shape {shapes[0]} in one run, {shapes[1]} in another")


def _about(a, b) -> list[Sentence]:
    """The losses, and what else differs: versions, device."""
    x, y = distinct_digits(a["loss"], b["loss"])
    rows = [("losses", f"{x} in a, {y} in b" if x != y else f"{x} in both")]
    for key in ("torch", "python", "device"):
        if a[key] != b[key]:
            rows.append((key, f"{a[key]} in a, {b[key]} in b"))
    return rows


def _relative(a, b):
    """How far two tensors are apart, as a share of the first."""
    if a["shape"] != b["shape"]:
        return float("inf")
    apart = norm_of_difference(a["sums"], b["sums"])
    return apart / a["norm"] if a["norm"] else apart


def _same(found):
    count = f"the gradients of all {len(found)} parameters are the same"
    if all(each.apart == 0 for each in found):
        return count
    largest = max(
        [each for each in found if each.rounding < 0.5] or found,
        key=lambda each: each.relative(each.apart),
    )
    return (
        f"{count} up to rounding: the largest relative difference is about "
        f"{share(largest.relative(largest.apart))} ({largest.name}), and rounding errors there are "
        f"about {share(largest.relative(largest.floor))}"
    )


def _first_operation(a, b) -> list[Sentence]:
    """The first operation of backward at which another gradient arrives, or another operation."""
    keys = [[(each["module"], each["name"]) for each in run["operations"]] for run in (a, b)]
    usual = median(each["rounding"] for run in (a, b) for each in run["parameters"])
    agreed = (-1, -1)
    for i, j in aligned(*keys):
        one, other = a["operations"][i], b["operations"][j]
        pairs = zip(one["arrives"], other["arrives"], strict=False)
        if any(x and y and _relative(x, y) > TIMES * usual for x, y in pairs):
            break
        agreed = i, j
    else:
        i, j = len(keys[0]), len(keys[1])
    rows = []
    for name, run, first, last in (("a", a, agreed[0], i), ("b", b, agreed[1], j)):
        for each in run["operations"][max(first, 0) : last]:
            line = f": {each['line']}" if each["line"] else ""
            rows.append((f"parts at, in {name}", f"{each['name']}{line}"))
            break
    return rows
