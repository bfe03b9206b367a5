"""The wheel works in another folder, beside the user's own file helpers.py, and has its types."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "autograd_surprises", "helpers", "lessons"
BUILD = "import sys, setuptools.build_meta as build; print(build.build_wheel(sys.argv[1]))"

HELPERS = """
def cut(score):
    return score.detach()
"""
SCRIPT = """
import sys
import torch
import helpers
from autograd_surprises import explain, explain_error, report_card, trace

w = torch.ones(2, requires_grad=True)
bias = torch.ones(2, requires_grad=True)
with trace() as t:
    loss = (helpers.cut(3 * w) + bias).sum()
print(t.explain(loss, {"w": w}))
print(report_card(torch.sin, torch.randn(3)).passed)
try:
    helpers.cut(w).sum().backward()
except RuntimeError as error:
    print(explain_error(error))
print("helpers:", helpers.__file__)
print("tools:", sys.modules["autograd_surprises"].__file__)
print("loaded:", *(m for m in ("torch", "matplotlib", "ipywidgets", "PIL") if m in sys.modules))
"""


USER = ROOT / "tests" / "outside_user.py"
# Strictly, but without reading the types of torch and the others, which would take a minute.
MYPY = """
[mypy]
strict = true
[mypy-torch.*,matplotlib.*,ipywidgets.*,anywidget.*,traitlets.*,numpy.*,PIL.*,IPython.*]
follow_imports = skip
"""


def files_of_packages(root):
    """Every file that belongs into the wheel."""
    return {
        file.relative_to(root).as_posix()
        for package in PACKAGES
        for file in (root / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.name[0] != "."
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy of the project, and without network."""
    folder = tmp_path_factory.mktemp("wheel")
    left = shutil.ignore_patterns(".*", "build", "__pycache__", "*.egg-info")
    source = shutil.copytree(ROOT, folder / "source", ignore=left)
    subprocess.run(
        [sys.executable, "-c", BUILD, folder], cwd=source, check=True, capture_output=True
    )
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_holds_both_packages_with_their_data_and_nothing_else(wheel):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == files_of_packages(ROOT)
    for data, least in (
        ("autograd_surprises/atlas/measured/torch-", 10),
        ("lessons/measured/", 2),
        ("lessons/digits/digits.csv.gz", 1),
    ):
        assert sum(name.startswith(data) for name in inside) >= least, data


def test_the_wheel_diagnoses_beside_a_users_own_helpers(wheel, tmp_path):
    installed, script = tmp_path / "installed", tmp_path / "project" / "train.py"
    wheel.extractall(installed)
    script.parent.mkdir()
    script.write_text(SCRIPT)
    script.with_name("helpers.py").write_text(HELPERS)
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path / "elsewhere",
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    *said, helpers, tools, loaded = done.stdout.splitlines()
    explained = "\n".join(said)
    assert "helpers.py:3: return score.detach()" in explained, "the user's file is the user's"
    assert "True" in said, "the report card of torch.sin"
    assert helpers == f"helpers: {script.with_name('helpers.py')}"
    assert tools == f"tools: {installed / 'autograd_surprises' / '__init__.py'}"
    assert loaded == "loaded: torch"


@pytest.fixture(scope="module")
def complaints(wheel, tmp_path_factory):
    """What mypy says of a file that uses the installed packages."""
    folder = tmp_path_factory.mktemp("types")
    wheel.extractall(folder / "installed")
    (folder / "mypy.ini").write_text(MYPY)

    def complaints(source):
        (folder / "user.py").write_text(source, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "user.py"],
            env={**os.environ, "PYTHONPATH": str(folder / "installed")},
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        return done.stdout.splitlines()[:-1], done.stderr

    return complaints


def test_the_types_hold_for_who_imports_the_packages(complaints):
    used = USER.read_text(encoding="utf-8")
    assert complaints(used) == ([], "")
    wrong = used + "\nexplorer: int = explore(torch.sin).curve.describe()\nwatch(steps=1)\n"
    told, _ = complaints(wrong)
    assert [line.rpartition("[")[2] for line in told] == ["assignment]", "arg-type]"]
