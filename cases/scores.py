"""One step of the study: what the doctor says of it, what of that is untrue, what changed."""

import time
import warnings
from dataclasses import dataclass, field
from statistics import median

from autograd_surprises import trace
from cases.case import Case
from cases.claims import seed
from cases.judge import judged, names_a_guilty_line, right, traced

SCREEN = 40  # lines that fit on one
REPEATS = 5


@dataclass
class Score:
    """What came out of one step. A failure of the doctor itself is `crashed`.

    alarms   (status, cause) that the step should not get
    untrue   claims that plain torch refutes
    changed  what is not as it would be without the doctor
    plain, explained  seconds of a forward and a backward pass, and of explain() (healthy steps)
    found    did one finding name the line and the cause? (of bugs)
    line, cause, second  the parts of that, and findings that blame something else
    """

    name: str
    kind: str
    library: str
    lines: int = 0
    alarms: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    plain: float = 0.0
    explained: float = 0.0
    found: bool = False
    line: bool = False
    cause: bool = False
    second: list[str] = field(default_factory=list)
    crashed: str = ""
    text: str = ""


def score(case: Case) -> Score:
    """Run one step."""
    kind = "bug" if case.causes else "healthy"
    result = Score(case.name, kind, case.library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            (score_healthy if kind == "healthy" else score_bug)(case, result)
        except Exception as error:
            result.crashed = f"{type(error).__name__}: {error}"[:500]
    return result


def score_healthy(case: Case, result: Score) -> None:
    judgement = judged(case)
    result.text = judgement.said.text
    result.lines = len(result.text.splitlines())
    result.alarms, result.untrue = judgement.alarms, judgement.untrue
    result.changed = judgement.changed
    result.plain, result.explained = costs(case)


def costs(case: Case) -> tuple[float, float]:
    """Seconds of a forward and a backward pass, and of explain(); the first calls aside."""
    seed()
    step, plain, explained = case.build(), [], []
    for _ in range(REPEATS + 1):
        plain.append(seconds_of(lambda: step.compute().backward()))
        with trace() as t:
            loss = step.compute()
        explained.append(
            seconds_of(lambda t=t, loss=loss: t.explain(loss, step.model, optimizer=step.optimizer))
        )
    return median(plain[1:]), median(explained[1:])


def seconds_of(act) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def score_bug(case: Case, result: Score) -> None:
    said = traced(case.build)
    result.text = said.text
    alarms = [f for f in said.findings if f.alarming]
    correct = right(alarms, case)
    result.cause = bool(correct)
    result.line = any(names_a_guilty_line(f, case) for f in alarms)
    result.found = any(names_a_guilty_line(f, case) for f in correct)
    known = {*case.causes, *case.also}
    others = [
        f for f in alarms if f.cause not in known and not names_a_guilty_line(f, case, most=9)
    ]
    result.second = sorted({f"{f.status} {f.cause}" for f in others})
