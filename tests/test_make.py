"""The Makefile and its environments, with stand-ins for Python: nothing is installed."""

import os
import re

import pytest
from made_checkout import BUILD, BY_PIP, LAB, MAKE, ROOT, Checkout

pytestmark = pytest.mark.skipif(os.name == "nt" or not MAKE, reason="make is for Linux and macOS")


@pytest.fixture
def checkout(tmp_path):
    """A copy of the Makefile on a machine of stand-ins."""
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    "file", ["README.md", "docs/installing.md", "CONTRIBUTING.md", "notebooks/00_start_here.ipynb"]
)
def test_every_command_that_a_text_names_is_a_target(file):
    named = re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / file).read_text(), flags=re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert named and set(named) <= set(targets)


@pytest.mark.parametrize(
    ("newer", "arguments", "says"),
    [
        (None, [], ["3.10 to 3.14", "python3 is 3.9", "PYTHON="]),
        (("python3.12", "3.12", 1), [], ["python3.12 has no venv module", "apt install"]),
        (("python3.15", "3.15"), ["PYTHON=python3.15"], ["3.10 to 3.14", "python3.15 is 3.15"]),
    ],
)
def test_an_unusable_python_gives_one_clear_line(checkout, newer, arguments, says):
    checkout.python(version="3.9")
    if newer:
        checkout.python(*newer)
    done, asked = checkout.make("lab", *arguments)
    line, _ = (done.stdout + done.stderr).splitlines()  # and make's own
    assert done.returncode != 0 and asked == [] and not checkout.venv.exists()
    assert [words for words in says if words not in line] == []


def test_an_unsuitable_python3_is_passed_over(checkout):
    checkout.python(version="3.9")
    checkout.python("python3.13", version="3.13", ensurepip=1)
    used = checkout.python("python3.12", version="3.12")
    done, _ = checkout.make("lab")
    assert done.returncode == 0, done.stderr
    assert (checkout.folder / ".venv/bin/python").read_text() == used.read_text()


def test_the_first_lab_installs_and_the_second_does_not_unless_it_is_outdated(checkout):
    checkout.python()
    assert checkout.make("lab")[1] == [*BUILD, LAB]
    assert checkout.make("lab")[1] == [LAB]
    os.utime(checkout.folder / "constraints.txt", (checkout.ready.stat().st_mtime + 1,) * 2)
    assert checkout.make("lab")[1] == [*BUILD, LAB]


@pytest.mark.parametrize(
    ("user", "arguments", "options"),
    [
        ("1000", ["ARGS=--no-browser", "PORT=8899"], " --port=8899 --no-browser"),
        ("0", [], " --allow-root"),
    ],
)
def test_what_jupyterlab_is_told(checkout, user, arguments, options):
    """The whole line, so nothing weakens the server by the way: no --ip, no empty token."""
    checkout.python()
    checkout.program("id", f"#!/bin/sh\n[ $1 = -u ] && echo {user}\n")
    assert checkout.make("lab", *arguments)[1][-1] == LAB + options


def test_pip_installs_where_uv_fails(checkout):
    checkout.python()
    asked = checkout.make("lint", FAIL="--python")[1]
    assert [each for each in asked if each.startswith(BY_PIP)] == [
        f"{BY_PIP} -c constraints.txt -e .[lab]",
        f"{BY_PIP} pip>=25.1",
        f"{BY_PIP} -c constraints.txt -e . --group test",
    ]


def test_a_folder_that_jupyter_cannot_write_to_gives_one_clear_line(checkout):
    checkout.python()
    done, asked = checkout.make("lab", RUNTIME="/proc/x/jupyter")
    assert done.returncode != 0 and asked == BUILD
    line, _ = done.stderr.splitlines()  # and make's own
    assert "/proc/x/jupyter" in line and "JUPYTER_DATA_DIR=" in line


def contents(folder):
    return sorted((path, path.is_file() and path.read_text()) for path in folder.rglob("*"))


@pytest.mark.parametrize("trouble", ["BROKEN", "moved"])
def test_our_environment_is_emptied_if_its_python_does_not_run_or_it_was_moved(checkout, trouble):
    checkout.python()
    checkout.make("lab")
    (checkout.venv / "large").write_text("")
    if trouble == "moved":
        (checkout.venv / "ours").write_text("/another/place/.venv\n")
    settings = {"MOVED": "1", "BROKEN": "1" if trouble == "BROKEN" else ""}
    assert checkout.make("lab", **settings)[1] == [*BUILD, LAB]
    assert not (checkout.venv / "large").exists()
    assert checkout.make("lab")[1] == [LAB]


@pytest.mark.parametrize("whose", ["his own", "a worktree's", "a link to nothing"])
def test_an_environment_that_make_did_not_make_is_left_alone(checkout, tmp_path, whose):
    checkout.python()
    folder = checkout.venv if whose == "his own" else tmp_path / "elsewhere"
    if whose == "a worktree's":  # the other checkout's environment, ready
        checkout.make("lab")
        checkout.venv.rename(folder)
        (folder / "ours").write_text("/the/other/checkout/.venv\n")
    elif whose == "his own":
        (folder / "bin").mkdir(parents=True)
        checkout.python("python").rename(folder / "bin/python")
    if whose != "his own":
        checkout.venv.symlink_to(folder)
    before = contents(folder)
    done, asked = checkout.make("lab", MOVED="1")
    assert (done.returncode, asked) == (2, [])
    assert ".venv is a link, or was not made by `make`" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("what", ["venv", "-e ."])
def test_a_failed_installation_does_not_look_ready_and_goes_on(checkout, what):
    checkout.python()
    done, asked = checkout.make("lab", FAIL=what)
    assert done.returncode != 0 and what in asked[-1] and not checkout.ready.exists()
    # The package is not there yet; where `venv` failed, no Python is there, either.
    assert checkout.make("lab", MOVED="1")[1] == [*BUILD, LAB]
    assert checkout.make("lab")[1] == [LAB]


def test_clean_leaves_the_source_and_what_is_not_ours(checkout, tmp_path):
    checkout.python()
    before = sorted(checkout.folder.rglob("*"))
    checkout.make("lint", "TORCH=2.15.0")
    checkout.make("lab", "VENV=.venv-colab", FAIL="-e .")  # interrupted
    for folder in ("build", "site", "tests/__pycache__", ".pytest_cache", "a.egg-info"):
        (checkout.folder / folder).mkdir(parents=True)
    kept = checkout.folder / ".venv-real", tmp_path / "elsewhere"
    for folder in kept:
        folder.mkdir()
    checkout.venv.symlink_to(kept[1])
    done, _ = checkout.make("clean")
    assert done.returncode == 0, done.stderr
    assert sorted(checkout.folder.rglob("*")) == sorted([*before, kept[0]])
    assert kept[1].exists() and ".venv-real was not made by make, and stays" in done.stdout
