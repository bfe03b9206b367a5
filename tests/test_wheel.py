"""The wheel works with torch alone, beside a user's own helpers.py and lessons.py, and is typed."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "autograd_surprises", "helpers", "lessons"
BUILD = "import sys, setuptools.build_meta as build; print(build.build_{}(sys.argv[1]))"

OF_NOTEBOOKS = "IPython", "PIL", "anywidget", "ipywidgets", "matplotlib", "numpy"
# What Python runs first, in every process; then these cannot be imported.
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({OF_NOTEBOOKS}))"
FILES = {
    "helpers.py": """
def cut(score):
    return score.detach()
""",
    "lessons.py": "raise SystemExit('the doctor imported lessons.py')",
    "train.py": """
import helpers
import torch

w = torch.ones(2, requires_grad=True)
bias = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w, bias], lr=0.1)
(helpers.cut(3 * w) + bias).sum().backward()
optimizer.step()
""",
    "diagnose.py": """
import helpers
import torch
import autograd_surprises
from autograd_surprises import explain, explain_error, trace, watch

w = torch.ones(2, requires_grad=True)
bias = torch.ones(2, requires_grad=True)
with trace() as t:
    loss = (helpers.cut(3 * w) + bias).sum()
report = t.explain(loss, {"w": w})
print(explain(loss, {"w": w}), report, report._repr_html_())
with watch(torch.nn.Linear(2, 1)) as watched:
    pass
try:
    helpers.cut(w).sum().backward()
except RuntimeError as error:
    print(explain_error(error))
print(helpers.__file__, autograd_surprises.__file__, sep="\\n")
""",
}
PICTURES = "picture", "live_picture", "parts", "stroke_recorder"  # need the extra
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


def build(kind, source, folder):
    """Without network."""
    command = [sys.executable, "-c", BUILD.format(kind), folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from an sdist of a copy of the project, as a release is."""
    folder = tmp_path_factory.mktemp("wheel")
    left = shutil.ignore_patterns(".*", "build", "__pycache__", "*.egg-info")
    build("sdist", shutil.copytree(ROOT, folder / "source", ignore=left), folder)
    (file,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(file, folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    build("wheel", unpacked, folder)
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.mark.slow
def test_the_wheel_holds_the_packages_with_their_data_and_nothing_else(wheel):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == files_of_packages(ROOT)


@pytest.fixture(scope="module")
def user(wheel, tmp_path_factory):
    """The folder of a user who has the wheel, torch and files of his own."""
    folder = tmp_path_factory.mktemp("user")
    wheel.extractall(folder / "installed")
    (folder / "installed" / "sitecustomize.py").write_text(WITHOUT)
    wheel.extractall(folder / "types")  # without that
    (folder / "project").mkdir()
    for name, text in FILES.items():
        (folder / "project" / name).write_text(text)
    return folder


def run(user, *arguments, folder="project"):
    """What Python prints there: (stdout, stderr)."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(user / "installed")},
        cwd=user / folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


COMMANDS = """
import runpy, sys
for command in (
    "card torch:sin --shape 3",
    "explain REINFORCE baseline",
    "--json r.json train.py",
):
    sys.argv = ["autograd_surprises", *command.split()]
    try:
        runpy.run_module("autograd_surprises", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert not end.code, end
runpy.run_path("diagnose.py")
"""


@pytest.mark.slow
def test_the_diagnosis_needs_torch_alone_and_leaves_a_users_helpers_to_the_user(user):
    printed, shown = run(user, "-c", COMMANDS)
    *_, helpers, own = printed.splitlines()
    assert Path(own) == user / "installed" / "autograd_surprises" / "__init__.py"
    assert Path(helpers) == user / "project" / "helpers.py"
    cut = "helpers.py:3: return score.detach()"
    assert "vmap(grad)" in printed and cut in printed and cut in shown
    assert "ipynb#REINFORCE,-and-a-baseline\n" in printed
    (step,) = json.loads((user / "project" / "r.json").read_text())["reports"]
    assert step["step"] == 1


MISSING = """
import importlib, sys
for name in {names}:
    importlib.import_module(name)
print({{"helpers", "lessons"}} & {{*sys.modules}})
for module in ("helpers.curves", "helpers.explore", "lessons", "lessons.digits.figure"):
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(error)
"""


@pytest.mark.slow
def test_what_needs_more_than_torch_says_so_in_one_sentence_with_its_remedy(user):
    names = [
        ".".join(file.relative_to(user / "installed").with_suffix("").parts)
        for file in (user / "installed" / "autograd_surprises").rglob("*.py")
        if file.stem not in ("__main__", *PICTURES)
    ]
    shown, _ = run(user, "-c", MISSING.format(names=names), folder=".")
    others, *sentences = shown.splitlines()
    assert others == "set()", "the diagnosis has imported one of the others"
    sentence = 'matplotlib is missing: run pip install "autograd-surprises[notebooks]"'
    assert sentences == [sentence] * 4


WRONG = """
explorer: int = explore(torch.sin).curve.describe()
watch(steps=1)
"""


@pytest.mark.slow
def test_the_types_hold_for_who_imports_the_packages(user):
    """Mypy complains of nothing but two planted faults."""
    (user / "mypy.ini").write_text(MYPY)
    used = USER.read_text(encoding="utf-8")
    (user / "user.py").write_text(used + WRONG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "user.py"],
        env={**os.environ, "PYTHONPATH": str(user / "types")},
        cwd=user,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    complaints = done.stdout.splitlines()[:-1]
    assert [line.rpartition("[")[2] for line in complaints] == ["assignment]", "arg-type]"], done
