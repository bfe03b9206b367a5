"""Which rule each patient, twin and healthy step gets: `python -m cases.rule_ids`.

The order of the rules is a part of their meaning. Run it after a change of the rules, and read the
difference: each line of rule_ids.json that changed is another answer for somebody.
"""

import functools
import json
import warnings
from pathlib import Path

from cases.judge import Judged, Said, alone, judged, traced
from cases.small import CURED, HEALTHY, PATIENTS

FILE = Path(__file__).with_name("rule_ids.json")


@functools.cache
def visits(name: str) -> dict[str, Said]:
    """What is said of a patient with a trace, of it without one, and of its twin: once for all."""
    sick, twin = PATIENTS[name].build, CURED[name]
    return {"recorded": traced(sick), "alone": alone(sick), "cured": traced(twin)}


@functools.cache
def judgement(name: str) -> Judged:
    """What is said of a healthy step, once for all."""
    return judged(HEALTHY[name])


def ids_of_patient(name: str) -> dict[str, list[str]]:
    return {kind: said.ids for kind, said in visits(name).items()}


def ids_of_step(name: str) -> list[str]:
    return judgement(name).said.ids


def text_of(answers) -> str:
    """One line for each, so that a change is a line of a diff."""
    parts = [
        f" {json.dumps(group)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(ids)}" for name, ids in each.items())
        + "\n }"
        for group, each in answers.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {
        "patients": {name: ids_of_patient(name) for name in sorted(PATIENTS)},
        "healthy steps": {name: ids_of_step(name) for name in sorted(HEALTHY)},
    }
    FILE.write_text(text_of(found), encoding="utf-8")
