"""environment.yml, constraints.txt, CI and the versions in our texts keep to pyproject.toml."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler import MatchSpec

from autograd_surprises import __version__
from autograd_surprises.atlas import versions
from autograd_surprises.facts.toml_data import tomllib
from tools.notebooks import notebook_files

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
JOBS = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]

PIP_NAME = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
SCRIPT = (ROOT / "tools/environment.sh").read_text()
PYTHONS = re.search(r"^\t+(3[.0-9|]+)\)$", SCRIPT, re.MULTILINE)[1].split("|")
SYSTEMS = {"linux": "posix", "darwin": "posix", "win32": "nt"}


def applies(requirement, environment):
    return not requirement.marker or requirement.marker.evaluate(environment)


def required(extras, environment):
    """What the project and these extras or groups ask for there, without an extra's own extras."""
    choices = {**PROJECT["optional-dependencies"], **GROUPS}
    lines = sum((choices[extra] for extra in extras), [])
    lines = [line for line in lines if isinstance(line, str)]  # not a group that another includes
    wanted = map(Requirement, [*PROJECT["dependencies"], *lines])
    return [each for each in wanted if each.name != PROJECT["name"] and applies(each, environment)]


def test_for_peoples_own_code_torch_is_enough():
    for python in PYTHONS:
        names = {each.name for each in required([], {"python_version": python})}
        assert names - {"torch"} == ({"tomli"} if python == "3.10" else set())


def test_environment_agrees_with_pyproject():
    """environment.yml is readable by conda and asks for what `make lab` installs, no more."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["name"] == PROJECT["name"]
    assert environment["channels"] == ["conda-forge", "nodefaults"]

    *lines, pip = environment["dependencies"]
    assert pip == {"pip": ["-e .[notebooks]"]}
    asked = {}
    for spec in (MatchSpec(line, strict=True) for line in lines):
        assert spec.build is None, f"{spec}: name and range are enough"
        assert spec.name.normalized not in asked, f"{spec}: listed twice"
        asked[spec.name.normalized] = str(spec.version or "")

    assert asked.pop("pip") == ">=25.1", "the first that knows --group"
    python = re.fullmatch(r"(3\.\d+)\.\*", asked.pop("python"))
    assert python, "Binder needs one Python version: python=3.N"
    assert python[1] in SpecifierSet(PROJECT["requires-python"])

    wanted = required(["notebooks", "lab"], {"python_version": python[1]})
    assert {PIP_NAME.get(name, name): SpecifierSet(range) for name, range in asked.items()} == {
        requirement.name: requirement.specifier for requirement in wanted
    }


def test_constraints_agree_with_pyproject():
    """On every Python and system, exactly one pin for each package we ask for, within its range."""
    lines = [line for line in CONSTRAINTS.splitlines() if line and not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+((post|b)[0-9]+)?( ; .+)?", line), (
            f"not an exact version: {line}"
        )
    pins = list(map(Requirement, lines))

    for python in PYTHONS:
        for system, os_name in SYSTEMS.items():
            there = {
                "python_version": python,
                "python_full_version": f"{python}.9",
                "sys_platform": system,
                "os_name": os_name,
            }
            ours = [pin for pin in pins if applies(pin, there)]
            for requirement in required([*PROJECT["optional-dependencies"], *GROUPS], there):
                if requirement.name == "torchvision":  # names its own torch exactly
                    continue
                where = f"{requirement.name} on Python {python}, {system}"
                pinned = [pin.specifier for pin in ours if pin.name == requirement.name]
                assert len(pinned) == 1, f"{where}: {len(pinned)} pins"
                (version,) = (pin.version for pin in pinned[0])
                assert version in requirement.specifier, f"{where}: {version} is out of range"


# ---- Google Colab

COLAB = (ROOT / "tests/colab.txt").read_text()
(PYTHON_OF_COLAB,) = (
    step["with"]["python-version"]
    for step in JOBS["colab"]["steps"]
    if "setup" in step.get("uses", "")
)


def test_colab_has_what_the_notebooks_need():
    """The cell `install` changes none of Colab's packages and brings no JupyterLab or ipywidgets 8,
    which it cannot show (https://github.com/googlecolab/colabtools/issues/4525)."""
    there = {
        pin.name: pin.specifier for pin in map(Requirement, re.findall("^.+==.+", COLAB, re.M))
    }
    assert there.keys() >= {"anywidget", "ipywidgets", "matplotlib"}
    there |= dict.fromkeys(["pillow", "torch"])  # in any version
    for requirement in required(["notebooks"], {"python_version": PYTHON_OF_COLAB}):
        assert requirement.name in there, f"{requirement} is not in Colab: move it to an extra"
        if there[requirement.name]:
            (pin,) = there[requirement.name]
            assert pin.version in requirement.specifier, f"Colab has {requirement.name}{pin}"


# ---- The versions in our texts


def minor(version):
    return ".".join(version.split(".")[:2])


MATRIX = JOBS["pip"]["strategy"]["matrix"]["include"]
OLDEST, NEWEST = versions()[0], versions()[-1]
DAILY = minor(re.search("^torch==(.*)$", CONSTRAINTS, re.MULTILINE)[1])
TESTED = {OLDEST, DAILY, NEWEST}
VERSION = r"\d+\.\d+(?:\.\d+)?"


def test_the_oldest_torch_is_tested_and_so_are_the_daily_and_the_newest_one():
    (torch,) = (r for r in map(Requirement, PROJECT["dependencies"]) if r.name == "torch")
    assert str(torch.specifier) == f">={OLDEST}"
    assert {minor(row["torch"]) for row in MATRIX} == {*TESTED, "newest"}
    assert versions() == [f"2.{n}" for n in range(int(OLDEST[2:]), int(NEWEST[2:]) + 1)], "no gap"


def test_the_oldest_and_the_newest_python_are_tested():
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert {PYTHONS[0], PYTHONS[-1]} <= {row["python"] for row in MATRIX} <= set(PYTHONS)
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == PYTHONS


def test_one_version_of_the_project_is_named_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__


BEFORE_ALL_THAT = "2.0"  # the torch that brought setup_context
NAMED = re.compile(
    rf"\b(torch|TORCH|Python)(?:[ =]|==)({VERSION}(?:(?:, | to | and |, and ){VERSION})*)"
)
TEXTS = {
    "README.md": TESTED,
    "docs/installing.md": TESTED | {minor(JOBS["colab"]["env"]["TORCH"])},
    "benchmarks/README.md": TESTED,
    "Makefile": TESTED | set(versions()),
    "CONTRIBUTING.md": versions(),
    **{str(path.relative_to(ROOT)): [*versions(), BEFORE_ALL_THAT] for path in notebook_files()},
}


@pytest.mark.parametrize("file", TEXTS)
def test_a_text_names_no_version_that_we_do_not_test(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    for name, said in NAMED.findall(text):
        found = set(map(minor, re.findall(VERSION, said)))
        assert found <= set(PYTHONS if name == "Python" else TEXTS[file]), f"{name} {said}"
