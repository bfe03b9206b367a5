"""Imports point one way, and importing helpers brings no drawing library along."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).parent.parent / "helpers"
FILES = sorted(HELPERS.rglob("*.py"))
TORCH_ONLY = [
    "functions",
    "curves",
    "derivatives",
    "graph",
    "saved_tensors",
    "tables",
    "symptoms",
    "exercises",
    "installation",
    "doctor",
    "doctor.graph",
    "doctor.picture",
    "report_card",
    "pretended",
    "stairs",
    "digits",
    "atlas",
    "atlas.questions",
]
# module -> what it may import from helpers
ARROWS = {
    "functions": {"functions"},
    "sampling": set(),
    "curves": {"sampling"},
    "graph": set(),
    "saved_tensors": set(),
    "tables": set(),
    "installation": set(),
    "exercises": {"digits", "exercises", "functions", "report_card", "saved_tensors", "stairs"},
    "doctor": {"doctor", "picture"},  # the picture is drawn with matplotlib, when it is shown
    "report_card": {"report_card", "sampling"},
    "atlas": {"atlas", "sampling", "tables"},
    "mistakes": {"functions"},
    "symptoms": {"mistakes", "tables"},
    "lessons": {"exercises"},
    "quiz": {"atlas", "lessons"},
    "picture": set(),
    "plotting": {"curves", "picture", "pretended"},
    "graph_figure": {"graph", "picture", "plotting"},
    "derivatives": set(),
    "pretended": {"curves"},
    "stairs": {"functions"},
    "digits": {"digits", "functions", "picture"},  # the picture is drawn when it is asked for
    "laboratory": {"controls", "digits", "drawings", "explorer", "picture"},
    "gallery": {"functions", "picture", "plotting"},
    "drawings": {
        "atlas",
        "curves",
        "derivatives",
        "drawings",
        "functions",
        "picture",
        "plotting",
        "pretended",
        "sampling",
        "stairs",
    },  # fmt: skip
    "controls": {"picture"},
    "explorer": {"controls", "drawings", "picture"},
    "atlas_browser": {"atlas", "drawings", "explorer", "picture", "plotting"},
    "__init__": set(),
}


def imported_helpers(source):
    names = set()
    for node in ast.walk(ast.parse(source)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module] if node.module != "helpers" else [
                f"helpers.{alias.name}" for alias in node.names
            ]  # fmt: skip
        names |= {name.split(".")[1] for name in modules if name.startswith("helpers.")}
    return names


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HELPERS)))
def test_arrows_point_one_way(file):
    module = file.relative_to(HELPERS).parts[0].removesuffix(".py")
    assert imported_helpers(file.read_text(encoding="utf-8")) <= ARROWS[module]


def test_an_arrow_that_points_up_is_seen():
    assert imported_helpers("from helpers.explorer import explore") == {"explorer"}
    assert imported_helpers("import helpers.plotting as p") == {"plotting"}
    assert imported_helpers("from helpers import lessons") == {"lessons"}


def test_no_drawing_library_comes_along():
    """One process for all: the first module that brings one along is named."""
    modules = ["helpers", *(f"helpers.{name}" for name in [*TORCH_ONLY, "lessons"])]
    code = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
    print(name, [each for each in ("matplotlib", "ipywidgets", "IPython") if each in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.splitlines() == [f"{name} []" for name in modules], answer.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HELPERS)))
def test_a_file_holds_one_idea(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 300, "split it"
