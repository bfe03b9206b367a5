"""Each rule names the section that teaches it."""

import functools
import json
import re
from pathlib import Path

import pytest
from test_rules import RULES

from autograd_surprises.facts.sections import address

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# The rules whose sentence no output in their section shows.
TAUGHT = {
    "atlas.nan": "stationary",
    "atlas.ties": "not-picked/elements",
    "checkpoint.frozen": "reentrant-checkpoint/hidden",
    "codebook.straight-through": "straight-through",
    "freezing.module": "module-flag",
    "function.gradcheck": "own-backward own-function",
    "function.inputs": "ignored-gradient inside-function module-backward not-an-argument "
    "returned-none",
    "half": "underflow/float16 underflow/float16-mostly underflow/tiny underflow/zero",
    "half.bfloat16": "lost-update/half lost-update/partly",
    "half.skipped": "skipped-steps",
    "half.unscale": "clipped-while-scaled",
    "leaf.refused": "frozen/integer",
    "nan": "nan-leaf nonfinite-data",
    "nan.overflow": "overflow/backward",
    "nan.where": "masked-too-late/data masked-too-late/not-finite",
    "none": "no-history/cut no-loss unknown-cut",
    "none.argmax": "no-history/integer",
    "none.detached": "detach/call detach/constant",
    "none.frozen": "frozen/all frozen/by-a-later-call frozen/on-purpose",
    "none.no-grad": "inference-mode no-history/inference-mode",
    "none.unused": "unused/copied",
    "parameter.adds": "frozen/buffer",
    "parameter.fails": "new-parameter/cut new-parameter/in-forward unregistered/result",
    "round.no-derivative": "no-derivative",
    "second.function": "constant-gradient",
    "second.history": "no-create-graph",
    "untrained.list": "unregistered/attribute",
    "wrong.accumulated": "accumulated/held accumulated/used-twice cleared-gradient",
    "zero.rounded": "staircase",
    "zero.saturated": "saturated/tiny saturated/zero shrinks",
    "zero.start": "zero-factor/in-function zero-factor/in-places zero-factor/parameter",
}


@functools.cache
def printed(notebook):
    """{anchor of a section: all that its stored outputs say, in one line}"""
    said, anchor = {}, ""
    for cell in json.loads((NOTEBOOKS / notebook).read_text("utf-8"))["cells"]:
        heading = re.match("#+ (.*)", "".join(cell["source"]))
        if cell["cell_type"] == "markdown" and heading:
            anchor = heading[1].replace(" ", "-")
        for output in cell.get("outputs", ()):
            text = "".join([*output.get("text", ()), *output.get("data", {}).get("text/plain", ())])
            said[anchor] = f"{said.get(anchor, '')} {' '.join(text.split())}"
    return said


def sections_that_show(rule):
    """Those of all that rules name, in whose output the words of its sentence stand."""
    words = [part.strip() for part in re.split(r"\{.*?\}", rule.sentence)]
    places = {each: address(each).partition("#") for each in {r.section for r in RULES} - {""}}
    said = {
        each: printed(notebook).get(anchor, "") for each, (notebook, _, anchor) in places.items()
    }
    return {each for each, text in said.items() if all(part in text for part in words)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_names_the_section_that_teaches_it(rule):
    right = sections_that_show(rule) | {each for each in TAUGHT if rule.id in TAUGHT[each].split()}
    assert rule.section in (right or {""})
