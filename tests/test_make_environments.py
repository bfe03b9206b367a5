"""The environments that make keeps, with stand-ins for Python, and what runs in them."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from made_checkout import BUILD, INSTALL, LAB, MAKE, ROOT, group

pytestmark = pytest.mark.skipif(os.name == "nt" or not MAKE, reason="make is for Linux and macOS")


def contents(folder):
    return sorted((path, path.is_file() and path.read_text()) for path in folder.rglob("*"))


def plant(folder):
    """A package that somebody or an earlier `make` has installed."""
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    (folder / "lib" / "torch").write_text("large")
    return folder / "lib" / "torch"


@pytest.mark.parametrize("trouble", ["BROKEN", "moved"])
def test_our_environment_is_emptied_if_its_python_does_not_run_or_it_was_moved(checkout, trouble):
    checkout.python()
    checkout.make("lab")
    planted, hidden = plant(checkout.venv), checkout.venv / ".hidden"
    hidden.write_text("")
    if trouble == "moved":
        (checkout.venv / "ours").write_text("/another/place/.venv\n")
    settings = {"MOVED": "1", "BROKEN": "1" if trouble == "BROKEN" else ""}
    assert checkout.make("lab", **settings)[1] == [*BUILD, LAB]
    assert not planted.exists() and not hidden.exists()
    assert checkout.make("lab")[1] == [LAB]


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        *((".venv", each) for each in ("a link", "a link to nothing", "a worktree's link")),
        *((f".venv{each}", "his own") for each in ("", "-torch-2.8.0", "-real", "-colab")),
    ],
)
def test_an_environment_that_make_did_not_make_is_left_alone(checkout, tmp_path, name, whose):
    checkout.python()
    folder, venv = tmp_path / "elsewhere", checkout.folder / name
    target = {
        ".venv": ["lab"],
        ".venv-torch-2.8.0": ["lab", "TORCH=2.8.0"],
        ".venv-real": ["cases"],
        ".venv-colab": ["test-colab"],
    }[name]
    if whose == "a worktree's link":  # the other checkout's environment, ready
        checkout.make(*target)
        venv.rename(folder)
        (folder / "ours").write_text("/the/other/checkout/.venv\n")
    elif whose != "a link to nothing":
        (folder / "bin").mkdir(parents=True)
        checkout.python("python").rename(folder / "bin/python")
        plant(folder)
    if whose == "his own":
        folder.rename(venv)
        folder = venv
    else:
        venv.symlink_to(folder)
    before = contents(folder)
    done, asked = checkout.make(*target, MOVED="1")
    assert (done.returncode, asked) == (2, [])
    said = [line for line in done.stderr.splitlines() if name in line and "stays as it is" in line]
    assert len(said) == 1 and "rename or remove it" in said[0]
    assert contents(folder) == before


def test_a_moved_or_copied_checkout_is_told_from_the_one_that_was_installed(tmp_path):
    """By the code that the stand-in above answers: it runs in a checkout, and imports nothing."""
    script = (ROOT / "tools/environment.sh").read_text()
    code = re.search(r"-Ic '(.*?)'", script, flags=re.DOTALL)[1]
    for folder in ("here", "there"):
        (tmp_path / folder / "autograd_surprises").mkdir(parents=True)
        (tmp_path / folder / "autograd_surprises" / "__init__.py").write_text("1 / 0")
    installed = f"import sys; sys.path.insert(0, {str(tmp_path / 'here')!r}); "
    said = [
        subprocess.run(
            [sys.executable, "-Ic", installed + code],
            cwd=tmp_path / folder,
            capture_output=True,
            text=True,
        ).stdout
        for folder in ("here", "there", "")
    ]
    assert said == ["True\n", "False\n", ""]


@pytest.mark.parametrize("what", ["venv", "-e ."])
def test_a_failed_installation_does_not_look_ready_and_goes_on(checkout, what):
    checkout.python()
    done, asked = checkout.make("lab", FAIL=what)
    assert done.returncode != 0
    assert what in asked[-1]
    assert not checkout.ready.exists()
    planted = plant(checkout.venv)
    # The package is not there yet; where `venv` failed, no Python is there, either.
    assert checkout.make("lab", MOVED="1")[1] == [*BUILD, LAB]
    assert planted.exists() == (what != "venv")
    assert checkout.make("lab")[1] == [LAB]


@pytest.mark.parametrize(
    ("target", "tests"),
    [
        ("test", "-m pytest -n 3 -m not slow --durations=10"),
        ("test-all", "-m pytest -n 3 --durations=10"),
    ],
)
def test_what_make_test_and_test_all_run_and_that_they_stop_at_a_failure(checkout, target, tests):
    checkout.python()
    everything = [
        *BUILD,
        group("test"),
        "-m ruff check",
        "-m ruff format --check",
        tests,
    ]
    done, asked = checkout.make(target)
    assert (done.returncode, asked) == (0, everything)
    commands = everything[-3:]
    for i, command in enumerate(commands):
        done, asked = checkout.make(target, FAIL=command)
        assert done.returncode != 0
        assert asked == commands[: i + 1]


@pytest.mark.slow
def test_make_nb_runs_what_has_not_passed_since_it_changed(checkout):
    checkout.python()
    notebook, copy, module = (
        checkout.folder / name
        for name in ("notebooks/01_b.ipynb", "notebooks/01_b-Copy1.ipynb", "lessons/module.py")
    )
    for file in [notebook, copy, module, checkout.folder / "conftest.py"]:
        file.touch()

    def ran(**environment):
        return [line for line in checkout.make("nb", **environment)[1] if "pytest" in line]

    def change(file):
        after = time.time() + 1
        os.utime(file, (after, after))
        time.sleep(1.1)  # until that is the past

    assert ran() == ["-m pytest notebooks -n 2"]
    assert ran() == []
    change(notebook)
    assert ran(FAIL="pytest") == ran() == ["-m pytest notebooks/01_b.ipynb -n 2"]
    assert ran() == []
    change(module)
    assert ran() == ["-m pytest notebooks -n 2"]


@pytest.mark.parametrize(
    ("torch", "pin"), [("2.15.0", {"torch==2.15.0"}), ("newest", set())], ids=["2.15.0", "newest"]
)
def test_another_torch_has_its_own_environment(checkout, torch, pin):
    checkout.python()
    checkout.make("lab")
    done, asked = checkout.make("lint", f"TORCH={torch}", "TORCH_INDEX=https://example.org/cpu")
    assert done.returncode == 0, done.stderr
    assert asked[0] == f"-m venv .venv-torch-{torch}"
    index = "--index https://example.org/cpu"
    assert f"{index} -c .venv-torch-{torch}/constraints.txt -e ." in asked[1]
    ours = set((ROOT / "constraints.txt").read_text().splitlines())
    theirs = set(
        (checkout.folder / f".venv-torch-{torch}/constraints.txt").read_text().splitlines()
    )
    assert theirs - ours == pin
    assert {line.partition("==")[0] for line in ours - theirs} == {"torch", "sympy"}
    assert checkout.make("lint")[1][:2] == [group("test"), "-m ruff check"]


@pytest.mark.parametrize("torch", [[], ["TORCH=2.11.0"]], ids=["daily torch", "another"])
def test_the_notebooks_run_with_colabs_versions(checkout, torch):
    checkout.python()
    done, asked = checkout.make("test-colab", *torch)
    assert done.returncode == 0, done.stderr
    assert asked == [
        "-m venv .venv-colab",
        INSTALL.replace(".venv/", ".venv-colab/").replace("-c ", "-c .venv-colab/")
        + "[notebooks] nbval pytest pytest-xdist",
        "-m pytest notebooks -n 2",
    ]
    daily, colab, used = (
        [line for line in file.read_text().splitlines() if "==" in line]
        for file in (
            ROOT / "constraints.txt",
            ROOT / "tests/colab.txt",
            checkout.folder / ".venv-colab/constraints.txt",
        )
    )
    fixed = [line.partition("==")[0] for line in colab] + ["torch", "sympy"] * len(torch)
    kept = [line for line in daily if line.partition("==")[0] not in fixed]
    assert used == [*kept, *colab, *(choice.replace("TORCH=", "torch==") for choice in torch)]
    assert checkout.make("test-colab", *torch)[1] == asked[2:], "installed once"


def test_clean_leaves_only_the_source(checkout):
    checkout.python()
    before = sorted(checkout.folder.rglob("*"))
    checkout.make("lint")
    checkout.make("lint", "TORCH=2.15.0")
    checkout.make("lab", "VENV=.venv-colab", FAIL="-e .")  # interrupted
    left = ["build", "site", "tests/__pycache__", ".pytest_cache", "autograd_surprises.egg-info"]
    for folder in left:
        (checkout.folder / folder).mkdir(parents=True)
    (checkout.folder / "tests" / "test.py").write_text("")
    done, _ = checkout.make("clean")
    assert done.returncode == 0, done.stderr
    after = sorted(checkout.folder.rglob("*"))
    assert after == sorted([*before, checkout.folder / "tests/test.py"])


def test_clean_removes_a_link_but_not_what_it_leads_to_nor_what_is_not_ours(checkout, tmp_path):
    checkout.python()
    (checkout.folder / ".venv-real").symlink_to(tmp_path / "nothing")
    checkout.make("lab")
    checkout.venv.rename(tmp_path / "elsewhere")
    checkout.venv.symlink_to(tmp_path / "elsewhere")
    kept = plant(tmp_path / "elsewhere"), plant(checkout.folder / ".venv-colab")
    done, _ = checkout.make("clean")
    assert done.returncode == 0, done.stderr
    assert all(each.exists() for each in kept)
    assert [each.name for each in checkout.folder.glob(".venv*")] == [".venv-colab"]
    assert ".venv-colab was not made by make, and stays" in done.stdout


def test_make_atlas_measures_this_torch_or_another_one_and_leaves_no_gigabytes(checkout):
    checkout.python()
    done, asked = checkout.make("atlas")
    assert (done.returncode, asked) == (0, [*BUILD, "-m tools.atlas"])
    assert checkout.ready.exists()

    done, asked = checkout.make("atlas", "TORCH=2.8.0")
    assert done.returncode == 0 and asked[-1] == "-m tools.atlas"
    assert asked[0] == "-m venv .venv-torch-2.8.0"
    assert not (checkout.folder / ".venv-torch-2.8.0").exists()
    assert checkout.ready.exists(), "the daily environment stays"


APT = "apt-get install -y --no-install-recommends"
SHELL, WHOLE = "chromium-headless-shell", "chromium"


@pytest.mark.parametrize(
    ("programs", "fails", "asked"),
    [
        (["make", WHOLE], "", ["make test 1", "make test-all 1", "make test-processor 1"]),
        (
            ["make", "apt-get"],
            SHELL,
            [
                *("apt-get update", f"{APT} {SHELL}", f"{APT} {WHOLE}"),
                *("make test 1", "make test-all 1", "make test-processor 1"),
            ],
        ),
        (["make"], "", ["make test 1", "make test-all 1", "make test-processor 1"]),
    ],
    ids=["Chromium is there", "installed, of two the second", "no apt-get"],
)
def test_ci_installs_chromium_and_requires_it(checkout, programs, fails, asked):
    (checkout.folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", checkout.folder / ".ci")
    for name in ["bash", "dirname"]:
        (checkout.bin / name).symlink_to(shutil.which(name))
    for name in programs:
        checkout.program(
            name,
            '#!/bin/sh\necho "${0##*/} $*" $REQUIRE_BROWSER >>"$LOG"\n'
            'case "$*" in *"$FAIL") exit 1 ;; esac\n',
        )
    done = subprocess.run(
        [checkout.folder / ".ci/run"],
        env={"PATH": checkout.bin, "LOG": checkout.log, "FAIL": fails or "nothing"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert checkout.log.read_text().splitlines() == asked
    assert ("could not install Chromium" in done.stderr) == (programs == ["make"])
