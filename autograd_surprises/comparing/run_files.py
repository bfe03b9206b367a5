"""Two recorded runs, compared: same up to rounding, or where they part."""

import json
from pathlib import Path
from statistics import median

from autograd_surprises.comparing.alignment import agreed_before
from autograd_surprises.comparing.compared import (
    DIFFER,
    SAME,
    UNDECIDED,
    Compared,
    ParameterDifference,
    reassurance,
    who_differs,
)
from autograd_surprises.comparing.distance import TIMES, Distance
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
        record = f"compare --record {Path(file).with_suffix('.json')} {file}"
        remedy = f": record it first: python -m autograd_surprises {record}"
        raise ValueError(
            f"{file} is no recorded run: it holds no JSON"
            + (remedy if Path(file).suffix == ".py" else "")
        ) from error
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
    >>> compare_runs(run.data, run.data).same
    True
    """
    pairs = _paired_parameters(a, b)
    about = _about(a, b)
    for what, before in (
        ("the parameters", [(one["start"], other["start"]) for one, other in pairs]),
        ("what the model is called with", zip(a["batch"], b["batch"], strict=False)),
    ):
        apart = max((_relative(*pair) for pair in before), default=0.0)
        if apart > 0:
            text = (
                f"{what} differ before the step, by about {few_digits(apart, 2)}: start both runs "
                "from the same checkpoint and batch"
            )
            return Compared(UNDECIDED, text, (), losses=about)
    found = [_difference(*pair) for pair in pairs]
    beyond = [each for each in found if each.differs]
    if not beyond:
        return Compared(SAME, reassurance(found), found, losses=about)
    first, unknown = beyond[0], a["unknown"] or b["unknown"]
    if unknown:
        text = (
            f"the gradient of {first.name} differs by about {first.share(first.apart)} times "
            f"its size; how much of it is rounding is not known, because {unknown}"
        )
        return Compared(UNDECIDED, text, found, losses=about)
    x, y = distinct_digits(*(each["gradient"]["norm"] for each in pairs[found.index(first)]))
    also = ((first.name, f"norm {x} in a, {y} in b; {first.in_words()}"), *_first_operation(a, b))
    return Compared(DIFFER, who_differs(beyond), found, first, about, also=also)


def _paired_parameters(a, b):
    """Those of the same name, in the order of a."""
    one, other = ({each["name"]: each for each in run["parameters"]} for run in (a, b))
    for which, mine, theirs in (("first", one, other), ("second", other, one)):
        only = [name for name in mine if name not in theirs]
        if only:
            raise ValueError(
                f"these are runs of different models, or losses: only the {which} has a gradient "
                f"for {listed(only, most=3)}"
            )
    pairs = [(one[name], other[name]) for name in one]
    for pair in pairs:
        shapes = [tuple(each["gradient"]["shape"]) for each in pair]
        if shapes[0] != shapes[1]:
            name = pair[0]["name"]
            raise ValueError(f"{name} has the shape {shapes[0]} in one run, {shapes[1]} in another")
    return pairs


def _difference(one, other):
    """About how far apart the gradients of one parameter are, and how large rounding errors are."""
    apart = _apart(one["gradient"], other["gradient"])
    norms = one["gradient"]["norm"], other["gradient"]["norm"]
    floor = max(one["rounding"], other["rounding"]) * max(norms)
    return ParameterDifference(one["name"], *map(Distance, (norms[0], apart, floor)))


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
    apart = _apart(a, b)
    return apart / a["norm"] if a["norm"] else apart


def _apart(a, b):
    """About how far two tensors are apart: no less and no more than their norms allow."""
    estimate, norms = norm_of_difference(a["sums"], b["sums"]), (a["norm"], b["norm"])
    return min(max(estimate, max(norms) - min(norms)), sum(norms))


def _first_operation(a, b) -> list[Sentence]:
    """The first operation of backward that sends another gradient on, or that only one has."""
    usual = median(each["rounding"] for run in (a, b) for each in run["parameters"])

    def differ(i, j):
        arrives = (run["operations"][k]["arrives"] for run, k in ((a, i), (b, j)))
        pairs = zip(*arrives, strict=False)
        return any(x and y and _relative(x, y) > TIMES * usual for x, y in pairs)

    keys = [[(each["module"], each["name"]) for each in run["operations"]] for run in (a, b)]
    rows = []
    for name, run, agreed, end in zip("ab", (a, b), *agreed_before(*keys, differ), strict=True):
        for each in run["operations"][max(agreed, 0) : end][:1]:
            line = f": {each['line']}" if each["line"] else ""
            rows.append((f"parts at, in {name}", f"{each['name']}{line}"))
    return rows
