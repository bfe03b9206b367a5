"""The Makefile, with stand-ins for Python: quick, without installing anything."""

import os
import re

import pytest
from made_checkout import BUILD, BY_PIP, LAB, MAKE, ROOT, group

pytestmark = pytest.mark.skipif(os.name == "nt" or not MAKE, reason="make is for Linux and macOS")


def test_help_has_one_line_for_each_target(checkout):
    done, _ = checkout.make()
    listed = re.findall(r"^make ([a-z-]+) +\S.*$", done.stdout, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert listed == re.findall(r"^([a-z-]+):(?!=)", makefile, flags=re.MULTILINE)
    assert listed == re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[1].split()
    assert len(listed) == len(done.stdout.splitlines())


@pytest.mark.parametrize(
    "file", ["README.md", "docs/installing.md", "CONTRIBUTING.md", "notebooks/00_start_here.ipynb"]
)
def test_every_command_that_a_text_names_is_a_target(file):
    named = re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / file).read_text(), flags=re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert named and set(named) <= set(targets)


@pytest.mark.parametrize(
    ("pythons", "arguments", "says"),
    [
        pytest.param([], [], ["3.10 to 3.14", "python3 does not run", "PYTHON="], id="none"),
        pytest.param(
            [{"version": "3.9"}], [], ["3.10 to 3.14", "python3 is 3.9", "PYTHON="], id="too old"
        ),
        pytest.param(
            [{"version": "3.9"}, {"name": "python3.12", "version": "3.12", "ensurepip": 1}],
            [],
            ["python3.12 has no venv module", "apt install python3.12-venv"],
            id="old, and no venv in the newer",
        ),
        pytest.param(
            [{}, {"name": "python3.15", "version": "3.15"}],
            ["PYTHON=python3.15"],
            ["3.10 to 3.14", "python3.15 is 3.15"],
            id="named, too new",
        ),
    ],
)
def test_an_unusable_python_gives_one_clear_line(checkout, pythons, arguments, says):
    for python in pythons:
        checkout.python(**python)
    done, asked = checkout.make("lab", *arguments)
    assert done.returncode != 0
    assert asked == []
    line, _ = (done.stdout + done.stderr).splitlines()  # and make's own
    for words in says:
        assert words in line
    assert not (checkout.folder / ".venv").exists()


def test_an_unsuitable_python3_is_passed_over(checkout):
    checkout.python(version="3.9")
    checkout.python("python3.13", version="3.13", ensurepip=1)
    used = checkout.python("python3.12", version="3.12")
    done, _ = checkout.make("lab")
    assert done.returncode == 0, done.stderr
    assert (checkout.folder / ".venv/bin/python").read_text() == used.read_text()


def test_a_named_python_is_used(checkout):
    checkout.python()
    used = checkout.python("my pythons/python", version="3.12")
    done, _ = checkout.make("lab", f"PYTHON={used}")
    assert done.returncode == 0, done.stderr
    assert (checkout.folder / ".venv/bin/python").read_text() == used.read_text()


def test_the_first_lab_installs_and_the_second_does_not(checkout):
    checkout.python()
    assert checkout.make("lab")[1] == [*BUILD, LAB]
    assert checkout.make("lab")[1] == [LAB]


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


@pytest.mark.parametrize("newer", ["pyproject.toml", "constraints.txt"])
def test_an_outdated_environment_is_updated(checkout, newer):
    checkout.python()
    checkout.make("lab")
    os.utime(checkout.folder / newer, (checkout.ready.stat().st_mtime + 1,) * 2)
    assert checkout.make("lab")[1] == [*BUILD, LAB]


def test_without_uv_it_is_brought_into_the_environment_once(checkout, tmp_path):
    checkout.python()
    brought = (checkout.bin / "uv").rename(tmp_path / "uv")
    asked = checkout.make("lint", BROUGHT=str(brought))[1]
    assert asked[1].startswith(f"{BY_PIP} -q uv==")
    assert [asked[0], *asked[2:4]] == [*BUILD, group("test")]


@pytest.mark.parametrize("fails", ["--python", "uv=="])
def test_pip_installs_where_uv_fails_or_cannot_be_brought(checkout, fails):
    checkout.python()
    if fails == "uv==":
        (checkout.bin / "uv").unlink()
    done, asked = checkout.make("lint", FAIL=fails)
    assert done.returncode == 0, done.stderr
    assert [each for each in asked if each.startswith(BY_PIP) and "uv==" not in each] == [
        f"{BY_PIP} -c constraints.txt -e .[lab]",
        f"{BY_PIP} pip>=25.1",
        f"{BY_PIP} -c constraints.txt -e . --group test",
    ]


def test_uv_looks_where_pip_is_told_to_look(checkout):
    checkout.python()
    configured = r"""
:env:.find-links='/wheels'
global.cert='/a cert.pem'
global.extra-index-url='https://one.example/simple\nhttps://two.example/simple'
global.find-links='/overridden'
global.index-url='https://main.example/simple'
install.no-index='true'
"""
    (line,) = checkout.make("lab", CONFIGURED=configured)[1][1:-1]
    assert line.endswith("-c constraints.txt -e .[lab] with /a cert.pem")
    assert sorted(re.findall(r" (--(?!python)\S+(?: [^ -]\S+)?)", line)) == [
        "--default-index https://main.example/simple",
        "--find-links /wheels",
        "--index https://one.example/simple",
        "--index https://two.example/simple",
        "--no-index",
    ]


def test_a_folder_that_jupyter_cannot_write_to_gives_one_clear_line(checkout):
    checkout.python()
    done, asked = checkout.make("lab", RUNTIME="/proc/x/jupyter")
    assert done.returncode != 0 and asked == BUILD
    line, _ = done.stderr.splitlines()  # and make's own
    assert "/proc/x/jupyter" in line and "JUPYTER_DATA_DIR=" in line


def test_groups_are_installed_once(checkout):
    checkout.python()
    names = ["explorer", "doctor", "functions", "operators", "cards"]
    benchmarks = [f"benchmarks/{name}.py" for name in names]
    benchmarks.insert(1, "tests/browser/slider_in_a_page.py")
    assert checkout.make("bench")[1] == [*BUILD, group("test"), group("peers"), *benchmarks]
    assert checkout.make("bench")[1] == benchmarks
    assert checkout.make("lint")[1] == ["-m ruff check", "-m ruff format --check"]
