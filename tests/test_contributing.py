"""The examples in CONTRIBUTING.md are true: what they add is there, or works once it is added."""

import importlib
import re
import textwrap
from pathlib import Path

from cases.case import CURED, PATIENTS
from cases.judge import complaints, traced
from lessons.asking.checking import judge
from lessons.asking.registry import registered
from lessons.round_and_clamp import exercises

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)


def added(having):
    """What the one block that has this adds."""
    (block,) = [block for block in BLOCKS if having in block]
    lines = textwrap.dedent(block).splitlines()
    return "\n".join(line[1:] for line in lines if line.startswith("+")).strip() + "\n"


def test_the_case_is_one_that_the_doctor_understands(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    head = "import torch\n\nfrom cases.case import Visit, case\n\n\n"
    (tmp_path / "example_of_a_case.py").write_text(head + added("@case("))
    importlib.import_module("example_of_a_case")
    name = "softmax_over_one_class"
    patient, cured = PATIENTS.pop(name), CURED.pop(name)
    assert not list(complaints(traced(patient.build), patient))
    assert not [found for found in traced(cured).findings if found.alarming]


def test_the_check_tells_the_right_answer_from_the_wrong_ones():
    number = "round_and_clamp.4"
    assert number not in registered
    try:
        exec(added("@check_of("), vars(exercises))
        assert judge(number, 0.0).sign == "✓"
        for wrong, (answer, said) in eval(f"{{{added('passes it on')}}}")[number].items():
            assert said in judge(number, answer).why, wrong
    finally:
        registered.pop(number, None)
        vars(exercises).pop("check_gradient_outside", None)
