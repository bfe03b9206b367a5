"""What each patient, twin and healthy step is told, and by which rule: `python -m cases.rule_ids`.

The order of the rules is a part of their meaning. Run it after a change of the rules, and read the
difference: each line of rule_ids.json that changed is another answer for somebody.
"""

import functools
import json
import warnings
from pathlib import Path

import torch

from cases.judge import Judged, Said, alone, judged, traced
from cases.small import CURED, HEALTHY, PATIENTS

FILE = Path(__file__).with_name("rule_ids.json")
# Another torch may say more or less.
PINS = Path(__file__).parent.parent.joinpath("constraints.txt").read_text(encoding="utf-8")
IS_PINNED = (
    f"\ntorch=={torch.__version__.partition('+')[0]}" in PINS
)  # another may say more or less


@functools.cache
def stored() -> dict[str, dict]:
    """What FILE holds. In a global variable, the doctor would search it for tensors."""
    return json.loads(FILE.read_text("utf-8"))


@functools.cache
def visits(name: str) -> dict[str, Said]:
    """What is said of a patient with a trace, of it without one, and of its twin: once for all."""
    sick, twin = PATIENTS[name].build, CURED[name]
    return {"recorded": traced(sick), "alone": alone(sick), "cured": traced(twin)}


@functools.cache
def judgement(name: str) -> Judged:
    """What is said of a healthy step, once for all."""
    return judged(HEALTHY[name])


def told_to_patient(name: str) -> dict[str, list[list[str]]]:
    return {kind: said.told for kind, said in visits(name).items()}


def told_to_step(name: str) -> list[list[str]]:
    return judgement(name).said.told


def ids(told: list[list[str]]) -> list[str]:
    """ "weight zero dead-relu" of each finding: what every torch has in common."""
    return [id for id, *_ in told]


def text_of(answers) -> str:
    """One line for each, so that a change is a line of a diff."""
    parts = [
        f" {json.dumps(group)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(told)}" for name, told in each.items())
        + "\n }"
        for group, each in answers.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {
        "patients": {name: told_to_patient(name) for name in sorted(PATIENTS)},
        "healthy steps": {name: told_to_step(name) for name in sorted(HEALTHY)},
    }
    FILE.write_text(text_of(found), encoding="utf-8")
