"""Code for the page of a rule of the doctor, from its patients: broken, and cured."""

import ast
import contextlib
import inspect
import io
import linecache
import os
import re
import runpy
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from autograd_surprises.doctor import Report
from cases.case import cured_source
from cases.small import PATIENTS

IMPORTS = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
}
TRACE = "from autograd_surprises import trace"


class Example(NamedTuple):
    """Code that can be pasted, and what it prints."""

    code: str
    printed: str


@cache
def rule_examples() -> dict[str, tuple[Example, Example]]:
    """{id of a rule: code in which the doctor finds it, and the same cured}.

    Only what needs nothing but torch's modules is shown.
    """
    found: dict[str, tuple[Example, Example]] = {}
    for patient in PATIENTS.values():
        if patient.source or patient.status == "error":
            continue
        sick = inspect.getsource(patient.build)
        cured = re.sub(r"  #!(?=\n)|\n *pass(?=\n)", "", cured_source(sick))
        bare = re.sub(r"(?:\n *)?  #[!:].*", "", sick)
        codes = [script_of(patient.build, text) for text in (bare, cured)]
        if not all(codes):
            continue
        (broken, report), (cured, healthy) = map(_run, codes)
        if healthy.healthy:
            for finding in report.findings:
                if finding.alarming:
                    found.setdefault(finding.rule, (broken, cured))
    return found


def script_of(function: Callable, source: str = "") -> str:
    """A script that does what a patient does, and prints what the doctor says; "" if it needs more.

    The patient ends with `return Visit(...)`: the arguments of explain().
    """
    source = source or inspect.getsource(function)
    lines, needed = source.splitlines(), _needed(function, source)
    (tree,) = ast.parse(textwrap.dedent("\n".join(lines))).body
    *body, last = tree.body
    asked = ast.get_source_segment("\n".join(lines), last.value)
    if not asked.startswith("Visit(") or needed - IMPORTS.keys():
        return ""
    first = body[0].lineno - 1
    imports = [line for name, line in IMPORTS.items() if name in needed]
    steps = textwrap.indent(textwrap.dedent("\n".join(lines[first : last.lineno - 1])), "    ")
    asked = asked.replace("Visit(", "t.explain(", 1)
    head = "\n".join([*imports, TRACE])
    return f"{head}\n\nwith trace() as t:\n{steps}\nreport = {asked}\nprint(report)"


def _needed(function, source):
    """The names that its text takes from its module."""
    body = ast.parse(textwrap.dedent(source)).body[0].body  # without its decorators
    nodes = (node for statement in body for node in ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    used = {name.id for name in names if isinstance(name.ctx, ast.Load)} & {*function.__globals__}
    return used - made - {"Visit"}


def _run(code):
    torch.manual_seed(0)
    linecache.clearcache()  # or the lines would be those of the script before
    said, before = io.StringIO(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        Path(folder, "train.py").write_text(code, encoding="utf-8")
        try:
            os.chdir(folder)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of torch, about what is broken on purpose
                names = runpy.run_path("train.py")
        finally:
            os.chdir(before)
    report: Report = names["report"]
    return Example(code, said.getvalue().rstrip()), report
