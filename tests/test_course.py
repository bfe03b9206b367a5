"""What notebooks state about each other is written by `make notebooks`, and nobody changes it."""

import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import course
from tools.notebooks import lesson_of, notebook_files

REMEDY = "run `make notebooks`; `python -m tools.course` is the part of it that runs no cell"


def test_nothing_has_to_be_written():
    stale = [path.name for path, text in course.course().items() if path.read_text("utf-8") != text]
    assert stale == [], REMEDY


def test_each_file_has_the_number_of_its_place():
    places = [f"{place:02}_{name}" for place, name in enumerate(course.order())]
    assert [path.stem for path in notebook_files()] == places, REMEDY


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A project of three notebooks, one of which has a new place."""
    monkeypatch.setattr(course, "ROOT", tmp_path)
    monkeypatch.setattr(course, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(course, "README", tmp_path / "README.md")
    (tmp_path / "notebooks").mkdir()
    rows = [["start", "First", "start"], ["b", "Second", "expert"], ["a", "First", "working"]]
    (tmp_path / "notebooks" / "order.toml").write_text(f"lessons = {rows}")
    table = "| Notebook | The question | Level |\n|---|---|---|\n\nAfter it."
    for name, text in (("00_start", table), ("01_a", "See [02](02_b.ipynb#X)."), ("02_b", "")):
        cells = [
            new_markdown_cell(
                f"# Is it *{name[3:]}*?\n\nAbout {2 if name == '02_b' else 90} minutes."
            ),
            new_markdown_cell(f"{text} word" + 1800 * " word"),
            new_markdown_cell("**Exercise 1 · x** · about 7 minutes\n\nWrite x."),
            new_code_cell("1"),
            new_markdown_cell("## Read on\n\n- Next: [?](?)"),
        ]
        nbformat.write(new_notebook(cells=cells), tmp_path / "notebooks" / f"{name}.ipynb")
    (tmp_path / "README.md").write_text(f"{table}\n\n[Notebook 02](notebooks/02_b.ipynb)\n")
    for command in (["init", "-q"], ["add", "--all"]):  # which renames
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_files_tables_minutes_and_links_follow_the_order(small):
    course.main()
    files = notebook_files(small / "notebooks")
    assert [file.stem for file in files] == ["00_start", "01_b", "02_a"]
    readme = (small / "README.md").read_text()
    assert (
        readme
        == """\
| Notebook | The question | Level | Minutes + exercises |
|---|---|---|---|
| | **First** | | |
| 00 | [Is it *start*?](notebooks/00_start.ipynb) | start | 10 + 7 |
| 02 | [Is it *a*?](notebooks/02_a.ipynb) | working | 10 + 7 |
| | **Second** | | |
| 01 | [Is it *b*?](notebooks/01_b.ipynb) | expert | 10 + 7 |

After it.

[Notebook 01](notebooks/01_b.ipynb)
"""
    )
    cells = {lesson_of(file): nbformat.read(file, as_version=4).cells for file in files}
    assert "(01_b.ipynb) | expert" in cells["start"][1].source
    assert "00 |" not in cells["start"][1].source
    assert cells["a"][0].source.endswith("About 10 minutes, and 7 for the exercise.")
    assert cells["a"][1].source.startswith("See [01](01_b.ipynb#X).")
    assert cells["b"][-1].source.endswith("- Next: [Is it a?](02_a.ipynb)")
    assert cells["a"][-1].source.endswith("- Next: [Back to the start](00_start.ipynb)")
    before = {file: file.read_bytes() for file in small.rglob("*") if file.is_file()}
    course.main()
    assert {file: file.read_bytes() for file in before} == before
