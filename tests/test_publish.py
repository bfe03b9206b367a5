"""`make publish-as OWNER/REPO` writes the repository's address where it belongs, nothing else."""

import shutil
import subprocess
import sys

import nbformat
import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell

from tools.notebooks import ROOT, notebook_files
from tools.publish import address, publish, written

PLACES = ["pyproject.toml", "CITATION.cff", "README.md"]


@pytest.fixture
def project(tmp_path):
    """A copy of the files that may have an address, with two of the notebooks."""
    (tmp_path / "notebooks").mkdir()
    for file in [*(ROOT / name for name in PLACES), *notebook_files()[:2]]:
        shutil.copy(file, tmp_path / file.relative_to(ROOT))
    return tmp_path


def texts(root):
    """The text of each file that may have an address."""
    return {file: file.read_text(encoding="utf-8") for file in written(None, root)}


def test_what_is_stored_is_made_of_the_one_address():
    for path, text in written(address()).items():
        assert text == path.read_text(encoding="utf-8"), f"{path.name}: run make publish-as"


def test_an_address_reaches_every_place_and_leaves_with_the_next_one(project):
    publish("first-owner/first.repo", project)
    once = texts(project)
    for file, text in once.items():
        assert "first-owner" in text and "first.repo" in text, file
    assert address(project) == "first-owner/first.repo"

    publish("second/next", project)
    for file, text in texts(project).items():
        assert "second/next" in text, file
        assert "first-owner" not in text and "first.repo" not in text, file
    assert address(project) == "second/next"

    publish("first-owner/first.repo", project)
    assert texts(project) == once
    without = written(None, project)
    assert not any("first-owner" in text for text in without.values())


def test_links_badges_and_the_site(project):
    publish("Owner/repo", project)
    readme = (project / "README.md").read_text(encoding="utf-8")
    for link in (
        "(https://owner.github.io/repo/)",
        "(https://colab.research.google.com/github/Owner/repo/blob/main/notebooks/00_start_here.ipynb)",
        "(https://mybinder.org/v2/gh/Owner/repo/main?urlpath=lab/tree/notebooks/00_start_here.ipynb)",
    ):
        assert readme.count(link) == 1
    cited = yaml.safe_load((project / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["repository-code"] == "https://github.com/Owner/repo"
    for path in notebook_files(project / "notebooks"):
        title = nbformat.read(path, as_version=4).cells[0].source.splitlines()[-1]
        assert title.startswith("[Open in Colab](") and title.endswith(f"/{path.name})")


@pytest.mark.parametrize(
    "notebook, id, label",
    [
        ("12_the_doctor", "staircase", "more: "),
        ("11_errors_and_wrong_numbers", "no-derivative/staircase", "more: "),
        ("11_errors_and_wrong_numbers", "no-derivative/staircase", "<b>more</b>: "),
    ],
)
def test_a_stored_report_names_the_page_of_its_rule(project, notebook, id, label):
    stored = project / "notebooks" / f"{notebook}.ipynb"
    shutil.copy(ROOT / "notebooks" / stored.name, stored)
    before = written(None, project)[stored]
    assert f"{label}python -m autograd_surprises explain {id}" in before
    publish("Owner/repo", project)
    assert f"{label}https://owner.github.io/repo/m/{id}.html" in stored.read_text("utf-8")
    assert written(None, project)[stored] == before


def test_what_is_no_address_is_refused_and_changes_nothing(project):
    before = texts(project)
    for wrong in ("repo", "https://github.com/a/b", "a/b/c", "a b/c", "a/"):
        with pytest.raises(ValueError, match="expected OWNER/REPO"):
            publish(wrong, project)
    assert texts(project) == before


def test_the_command_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "tools.publish"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and "make publish-as OWNER/REPO" in done.stderr


def test_what_is_published_already_is_said(project, capsys):
    publish("Owner/repo", project)
    assert capsys.readouterr().out.count("updated") == len(texts(project))
    publish("Owner/repo", project)
    assert "updated" not in (said := capsys.readouterr().out) and "Owner/repo already" in said


@pytest.fixture
def shell(monkeypatch):
    """IPython, and the addresses that %pip is asked for."""
    shell, asked = InteractiveShell.instance(), []
    monkeypatch.setitem(shell.magics_manager.magics["line"], "pip", asked.append)
    shell.asked = asked
    return shell


def install_cell(project, repository):
    """The code of the cell `install`, for this address."""
    cells = [
        nbformat.reads(text, as_version=4).cells
        for path, text in written(repository, project).items()
        if path.suffix == ".ipynb"
    ]
    installs = [next(cell for cell in some if cell.cell_type == "code") for some in cells]
    for cell in installs:
        assert cell.id == "install" and not cell.outputs and len(cell.source.splitlines()) <= 6
        assert cell.metadata == {"jupyter": {"source_hidden": True}, "cellView": "form"}
    (source,) = {cell.source for cell in installs}
    return source


@pytest.mark.parametrize("repository", [None, "owner/repo"])
def test_the_install_cell_is_silent_where_the_packages_are(project, shell, capsys, repository):
    result = shell.run_cell(install_cell(project, repository))
    assert result.success and result.result is None and shell.asked == []
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_the_install_cell_installs_from_the_repository(project, shell, missing):
    assert shell.run_cell(install_cell(project, "owner/repo")).success
    address = "https://github.com/owner/repo/archive/main.zip"
    assert shell.asked == [f'install --quiet "autograd-surprises[notebooks] @ {address}"']


def test_without_a_repository_the_install_cell_says_what_to_do(project, shell, missing):
    error = shell.run_cell(install_cell(project, None)).error_in_exec
    assert isinstance(error, ModuleNotFoundError) and shell.asked == []
    assert "make lab" in str(error) and '%pip install "FOLDER[notebooks]"' in str(error)
