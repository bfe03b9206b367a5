"""Which notebooks `make test` leaves out."""

from types import SimpleNamespace

import notebook_stamps
import pytest
from notebook_stamps import KEPT, Stamps, not_reached, reached, seal

MODULES = {
    "helpers/__init__.py": "",
    "helpers/curves.py": "def f():\n    from helpers import (\n        marks,\n    )\n",
    "helpers/marks.py": "",
    "helpers/unused.py": "import helpers.marks",
    "lessons/__init__.py": "",
    "lessons/a/exercises.py": "import lessons.shared",
    "lessons/b/exercises.py": "",
    "lessons/shared.py": "",
    "autograd_surprises/__init__.py": "",
    "autograd_surprises/__main__.py": "from autograd_surprises.rules import all_rules",
    "autograd_surprises/rules/__init__.py": "",
    "autograd_surprises/rules/all_rules.py": "import_module(name)",
    "autograd_surprises/rules/a_rule.py": "",
}
NOT_NAMED = ["helpers/unused.py", "lessons/b/exercises.py"]
OTHERS = ["helpers/words.toml", "conftest.py", "pyproject.toml", "constraints.txt"]
CELL = (
    '{"cell_type": "code", "source": ["import helpers.curves\\n", "!python -m autograd_surprises"]}'
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with one notebook, which has two cells."""
    monkeypatch.setattr(notebook_stamps, "ROOT", tmp_path)
    written = {"notebooks/00_a.ipynb": f"[{CELL}, {CELL}]", **MODULES, **dict.fromkeys(OTHERS, "")}
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    notebook = tmp_path / "notebooks/00_a.ipynb"
    monkeypatch.setattr(notebook_stamps, "notebook_files", lambda: [notebook])
    forget()
    yield tmp_path
    forget()


def forget():
    for each in (notebook_stamps.named_in, notebook_stamps._data, notebook_stamps._read):
        each.cache_clear()


def test_it_reaches_what_is_imported_anywhere_by_name_by_its_lesson_and_by_a_command(project):
    notebook = project / "notebooks/00_a.ipynb"
    expected = {project / name for name in MODULES if name not in NOT_NAMED}
    assert reached(notebook) == expected
    imported = [project / "helpers/marks.py", project / NOT_NAMED[0], project / "venv/other.py"]
    assert not_reached(notebook, imported) == NOT_NAMED[:1]


@pytest.mark.parametrize(
    ("changed", "runs_again"),
    [
        *((name, name not in NOT_NAMED) for name in MODULES),
        *((name, True) for name in OTHERS),
        ("notebooks/00_a.ipynb", True),
        ("helpers/lesson_texts.json", False),
    ],
)
def test_its_seal_changes_with_what_it_reaches(project, changed, runs_again):
    before = seal(project / "notebooks/00_a.ipynb")
    with (project / changed).open("a") as file:
        file.write("# changed")
    forget()
    assert (seal(project / "notebooks/00_a.ipynb") != before) is runs_again


def test_another_torch_is_another_environment(project, monkeypatch):
    before = seal(project / "notebooks/00_a.ipynb")
    monkeypatch.setattr(notebook_stamps, "version", lambda package: "1.0")
    assert seal(project / "notebooks/00_a.ipynb") != before


def config(kept, argument="tests", marks="not slow"):
    cache = SimpleNamespace(get=lambda key, default: kept.get(key, default), set=kept.__setitem__)
    option = SimpleNamespace(markexpr=marks)
    return SimpleNamespace(cache=cache, args=[argument], option=option)


def run(stamps, *outcomes):
    """A run of its two cells."""
    for number, passed in enumerate(outcomes):
        report = {"nodeid": f"notebooks/00_a.ipynb::Cell {number}", "passed": passed}
        for when in ("setup", "call"):
            stamps.pytest_runtest_logreport(SimpleNamespace(when=when, **report))
    stamps.pytest_sessionfinish()


@pytest.mark.parametrize("outcomes", [(True,), (True, False), (False, False), ()])
def test_it_has_to_pass_as_a_whole(project, monkeypatch, outcomes):
    monkeypatch.delenv("CI", raising=False)
    kept = {}
    run(Stamps(config(kept)), *outcomes)
    assert kept[KEPT] == {} and Stamps(config(kept)).unchanged == []


def test_it_is_left_out_until_it_changes_is_named_runs_twice_or_in_ci(project, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    kept = {}
    first = Stamps(config(kept))
    (project / "helpers/marks.py").write_text("# changed while it ran")
    forget()
    run(first, True, True)
    assert Stamps(config(kept)).unchanged == []
    run(Stamps(config(kept)), True, True)
    assert Stamps(config(kept)).unchanged == ["00_a.ipynb"]
    assert Stamps(config(kept, argument="notebooks/00_a.ipynb::Cell 1")).unchanged == []
    assert Stamps(config(kept, marks="")).unchanged == []
    run(Stamps(config(kept)))  # a run that leaves it out
    assert Stamps(config(kept)).unchanged == ["00_a.ipynb"]
    monkeypatch.setenv("CI", "true")
    assert Stamps(config(kept)).unchanged == []
