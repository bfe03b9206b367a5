"""docs/real_models.md: what the doctor said of all steps, with date and versions."""

import json
from collections.abc import Iterable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

from cases.scores import SCREEN, Score
from cases.small import HEALTHY, PATIENTS

SCRIPTS = Path(__file__).with_name("training_scripts.md")
FIRST = Path(__file__).with_name("first_score.json")
PACKAGES = {"pyro": "pyro-ppl", "segmentation_models_pytorch": "segmentation-models-pytorch"}


def figures(results: list[Score]) -> dict[str, int]:
    """The sums that the page begins with."""
    steps = [r for r in results if r.kind == "healthy"]
    bugs = [r for r in results if r.kind == "bug"]
    return {
        "healthy steps": len(steps),
        "with a false alarm": sum(bool(r.alarms) for r in steps),
        "with an untrue claim": sum(bool(r.untrue) for r in steps),
        "untrue claims": sum(len(r.untrue) for r in steps),
        "changed by the doctor": sum(bool(r.changed) for r in steps),
        f"reports longer than {SCREEN} lines": sum(r.lines > SCREEN for r in steps),
        "healthy steps on which the doctor failed": sum(bool(r.crashed) for r in steps),
        "bugs": len(bugs),
        "line named": sum(r.line for r in bugs),
        "cause named": sum(r.cause for r in bugs),
        "line and cause in one finding": sum(r.found for r in bugs),
        "with a false second finding": sum(bool(r.second) for r in bugs),
        "bugs on which the doctor failed": sum(bool(r.crashed) for r in bugs),
    }


def page(results: list[Score]) -> str:
    """The whole page, as Markdown."""
    first = json.loads(FIRST.read_text())
    last = figures(results)
    return "\n".join([
        "# The doctor on real models",
        "",
        f"Measured by `make cases` on {date.today()} with {versions(results)}. No weights are "
        "downloaded: every model is small and starts from random weights. `cases/real` and "
        "`cases/small` hold each step and each bug, with the address of the example or the thread "
        "that it follows.",
        "",
        "**A false alarm** makes the report of a healthy step unhealthy. **An untrue claim** is "
        "refuted by plain torch: the gradient is not what the finding says, or the blamed step of "
        "backward is not the reason. To test a blamed step, noise replaces the zeros that leave "
        "it; if fewer than half of the tensor's zeros vanish, the claim is untrue. For a finding "
        "about None, NaN, inf or an optimizer, only the gradient is checked, not the cause. "
        "**Changed** means that after two training steps a parameter, buffer, gradient, hook, flag "
        "or random number differs in any bit from a run without the doctor. **A bug is found** if "
        "one finding names its cause, and its line before any other.",
        "",
        f"The first score, of {first['date']}, is that of the doctor before any rule was changed "
        "for these steps. Afterwards, a few steps and the way of scoring were corrected; the "
        "second column scores the same doctor in today's way. The steps of "
        "`cases/small/practice.py` came later.",
        "",
        "| | first score | that doctor, scored as now | now |",
        "|---|---|---|---|",
        *(
            f"| {name} | {first['figures'][name]} | {first['scored as now'][name]} | {count} |"
            for name, count in last.items()
        ),
        "",
        cost(results),
        "",
        "## Healthy steps with a wrong report",
        "",
        "| step | library | what is wrong with the report |",
        "|---|---|---|",
        *(row for result in results if result.kind == "healthy" for row in healthy_row(result)),
        "",
        "## Bugs",
        "",
        "| bug | model from | found | other findings | why it is missed |",
        "|---|---|---|---|---|",
        *(row for result in results if result.kind == "bug" for row in bug_row(result)),
        "",
        SCRIPTS.read_text(encoding="utf-8"),
    ])  # fmt: skip


def cost(results: list[Score]) -> str:
    """How long explain() takes, beside a plain step."""
    steps = [r for r in results if r.plain]
    times = sorted(r.explained / r.plain for r in steps)
    seconds = sorted(r.explained for r in steps)
    plain = sorted(r.plain for r in steps)
    return (
        f"After a recorded forward pass, `explain()` takes {1e3 * median(seconds):.0f} ms in the "
        f"median, {1e3 * seconds[-1]:.0f} ms at most, where all libraries above are imported and "
        "two steps are measured at a time. Parts of that do not depend on the model, and these "
        f"are small: a plain forward and backward pass takes {1e3 * median(plain):.1f} ms in the "
        f"median, so `explain()` takes as long as {median(times):.0f} of them in the median, and "
        f"as {times[-1]:.0f} at most."
    )


def healthy_row(result: Score) -> Iterable[str]:
    source = HEALTHY[result.name].source
    wrong = [result.crashed, *result.alarms, *result.untrue, *result.changed]
    if said := "; ".join(filter(None, wrong)):
        yield f"| [{words(result.name)}]({source}) | {result.library} | {safe(said)} |"


def bug_row(result: Score) -> Iterable[str]:
    case = PATIENTS[result.name]
    found = ", ".join(case.causes) if result.found else "**missed**"
    if not result.found and (result.line or result.cause):
        found = "the line only" if result.line else "the cause only"
    second = safe("; ".join(filter(None, [result.crashed, *result.second])))
    why = "" if result.found and not result.second else safe(case.missed)
    link = f"[{words(result.name)}]({case.source})"
    yield f"| {link} | {result.library} | {found} | {second} | {why} |"


def words(name: str) -> str:
    return name.replace("_", " ")


def safe(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")[:300]


def versions(results: list[Score]) -> str:
    names = sorted({result.library for result in results})
    known = []
    for name in names:
        try:
            known.append(f"{name} {version(PACKAGES.get(name, name)).split('+')[0]}")
        except ImportError:  # PackageNotFoundError: not a package of its own
            continue
    return ", ".join(known)
