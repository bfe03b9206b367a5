"""environment.yml and constraints.txt keep to what pyproject.toml asks for.

Each check is a function that raises; below it, planted faults show that it does.
"""

import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler import MatchSpec
from rattler.exceptions import InvalidMatchSpecError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = (ROOT / "environment.yml").read_text()
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

PIP_NAME = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
SYSTEMS = {"linux": "posix", "darwin": "posix", "win32": "nt"}


def check_environment(text, project):
    """environment.yml is readable by conda and asks for the project's dependencies, no more."""
    environment = yaml.safe_load(text)
    assert environment["name"] == project["name"]
    assert environment["channels"] == ["conda-forge", "nodefaults"]

    *lines, pip = environment["dependencies"]
    assert pip == {"pip": ["-e ."]}
    asked = {}
    for spec in (MatchSpec(line, strict=True) for line in lines):
        assert spec.build is None, f"{spec}: name and range are enough"
        assert spec.name.normalized not in asked, f"{spec}: listed twice"
        asked[spec.name.normalized] = str(spec.version or "")

    assert asked.pop("pip") == ""
    python = re.fullmatch(r"(3\.\d+)\.\*", asked.pop("python"))
    assert python, "Binder needs one Python version: python=3.N"
    assert python[1] in SpecifierSet(project["requires-python"])

    wanted = map(Requirement, project["dependencies"])
    assert {PIP_NAME.get(name, name): SpecifierSet(range) for name, range in asked.items()} == {
        requirement.name: requirement.specifier for requirement in wanted
    }


def test_environment_agrees_with_pyproject():
    check_environment(ENVIRONMENT, PROJECT)


@pytest.mark.parametrize(
    ("line", "planted", "named"),
    [
        pytest.param("jupyterlab>=4.2,<5", "jupyterlab>=4.1,<5", "jupyterlab", id="range"),
        pytest.param("pytorch-cpu>=2.6", "pytorch-cpu", "torch", id="no range"),
        pytest.param("  - pillow>=10\n", "", "pillow", id="missing"),
        pytest.param("  - pip\n", "  - pip\n  - scipy\n", "scipy", id="extra"),
        pytest.param("  - pip\n", "  - pip\n  - pillow>=9\n", "listed twice", id="twice"),
        pytest.param("pytorch-cpu", "pytorch-gpu", "pytorch-gpu", id="other package"),
        pytest.param("nbval>=0.11", "nbval=>0.11", "unable to parse", id="unreadable"),
        pytest.param("nbval>=0.11", "nbval>=0.11 py_0", "py_0: name and range", id="build"),
        pytest.param("python=3.12", "python=3.9", "3.9", id="old Python"),
        pytest.param("python=3.12", "python>=3.12", "one Python version", id="Python range"),
        pytest.param("-e .", "-e . --no-deps", "--no-deps", id="pip options"),
        pytest.param("  - nodefaults\n", "", "nodefaults", id="channels"),
        pytest.param("autograd-surprises", "gradients", "gradients", id="name"),
    ],
)
def test_a_planted_disagreement_is_found(line, planted, named):
    assert ENVIRONMENT.count(line) == 1
    with pytest.raises((AssertionError, InvalidMatchSpecError), match=re.escape(named)):
        check_environment(ENVIRONMENT.replace(line, planted), PROJECT)


def check_constraints(text, project):
    """On every Python and system, exactly one pin for each package we ask for, within its range."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+( ; .+)?", line), f"not an exact version: {line}"
    pins = list(map(Requirement, lines))

    wanted = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    for python in PYTHONS:
        for system, os_name in SYSTEMS.items():
            there = {
                "python_version": python,
                "python_full_version": f"{python}.9",
                "sys_platform": system,
                "os_name": os_name,
            }
            applies = [pin for pin in pins if not pin.marker or pin.marker.evaluate(there)]
            for requirement in map(Requirement, wanted):
                if requirement.marker and not requirement.marker.evaluate(there):
                    continue
                where = f"{requirement.name} on Python {python}, {system}"
                pinned = [pin.specifier for pin in applies if pin.name == requirement.name]
                assert len(pinned) == 1, f"{where}: {len(pinned)} pins"
                (version,) = (pin.version for pin in pinned[0])
                assert version in requirement.specifier, f"{where}: {version} is out of range"


def test_constraints_agree_with_pyproject():
    check_constraints(CONSTRAINTS, PROJECT)


@pytest.mark.parametrize(
    ("package", "planted", "named"),
    [
        ("torch", r"torch==2.5.0", "2.5.0 is out of range"),
        ("torch", r"torch==\1+cpu", "not an exact version"),
        ("torch", r"torch>=\1", "not an exact version"),
        ("nbval", r"", "nbval on Python 3.10, linux: 0 pins"),
        ("nbval", r"nbval==\1\nnbval==0.12", "nbval on Python 3.10, linux: 2 pins"),
        ("ipympl", r"ipympl==\1 ; python_version < '3.14'", "ipympl on Python 3.14, linux: 0 pins"),
        ("ipympl", r"ipympl==\1 ; os_name != 'nt'", "ipympl on Python 3.10, win32: 0 pins"),
    ],
)
def test_a_planted_pin_is_found(package, planted, named):
    text, count = re.subn(rf"^{package}==(.*)\n", planted + r"\n", CONSTRAINTS, flags=re.MULTILINE)
    assert count == 1
    with pytest.raises(AssertionError, match=re.escape(named)):
        check_constraints(text, PROJECT)
