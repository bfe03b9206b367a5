"""environment.yml, constraints.txt, CI and the versions in our texts keep to pyproject.toml.

Each check is a function that raises; below it, planted faults show that it does.
"""

import json
import re
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rattler import MatchSpec
from rattler.exceptions import InvalidMatchSpecError

from autograd_surprises import __version__
from autograd_surprises.atlas import versions
from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.show.notebooks_extra import PACKAGES
from tools.notebooks import notebook_files

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = (ROOT / "environment.yml").read_text()
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


def required(project, extras, environment):
    """What the project and these extras or groups ask for there, without an extra's own extras."""
    choices = {**project["optional-dependencies"], **GROUPS}
    lines = sum((choices[extra] for extra in extras), [])
    lines = [line for line in lines if isinstance(line, str)]  # not a group that another includes
    wanted = map(Requirement, [*project["dependencies"], *lines])
    return [each for each in wanted if each.name != project["name"] and applies(each, environment)]


def test_each_package_of_the_extra_has_the_sentence_that_says_how_to_get_it():
    names = {each.name for each in required(PROJECT, ["notebooks"], {"python_version": "3.13"})}
    assert {"PIL" if name == "pillow" else name for name in names - {"torch"}} <= PACKAGES


def test_for_peoples_own_code_torch_is_enough():
    for python in PYTHONS:
        names = {each.name for each in required(PROJECT, [], {"python_version": python})}
        assert names - {"torch"} == ({"tomli"} if python == "3.10" else set())


def check_environment(text):
    """environment.yml is readable by conda and asks for what `make lab` installs, no more."""
    environment = yaml.safe_load(text)
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

    wanted = required(PROJECT, ["notebooks", "lab"], {"python_version": python[1]})
    assert {PIP_NAME.get(name, name): SpecifierSet(range) for name, range in asked.items()} == {
        requirement.name: requirement.specifier for requirement in wanted
    }


def test_environment_agrees_with_pyproject():
    check_environment(ENVIRONMENT)


@pytest.mark.parametrize(
    ("line", "planted", "named"),
    [
        pytest.param("jupyterlab>=4.2,<5", "jupyterlab>=4.1,<5", "jupyterlab", id="range"),
        pytest.param("python=3.12", "python=3.9", "3.9", id="old Python"),
    ],
)
def test_a_planted_disagreement_is_found(line, planted, named):
    assert ENVIRONMENT.count(line) == 1
    with pytest.raises((AssertionError, InvalidMatchSpecError), match=re.escape(named)):
        check_environment(ENVIRONMENT.replace(line, planted))


def check_constraints(text):
    """On every Python and system, exactly one pin for each package we ask for, within its range."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
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
            for requirement in required(
                PROJECT, [*PROJECT["optional-dependencies"], *GROUPS], there
            ):
                if requirement.name == "torchvision":  # names its own torch exactly
                    continue
                where = f"{requirement.name} on Python {python}, {system}"
                pinned = [pin.specifier for pin in ours if pin.name == requirement.name]
                assert len(pinned) == 1, f"{where}: {len(pinned)} pins"
                (version,) = (pin.version for pin in pinned[0])
                assert version in requirement.specifier, f"{where}: {version} is out of range"


def test_constraints_agree_with_pyproject():
    check_constraints(CONSTRAINTS)


@pytest.mark.parametrize(
    ("package", "planted", "named"),
    [
        ("torch", r"torch==2.5.0", "2.5.0 is out of range"),
        ("ipympl", r"ipympl==\1 ; os_name != 'nt'", "ipympl on Python 3.10, win32: 0 pins"),
    ],
)
def test_a_planted_pin_is_found(package, planted, named):
    text, count = re.subn(rf"^{package}==(.*)\n", planted + r"\n", CONSTRAINTS, flags=re.MULTILINE)
    assert count == 1
    with pytest.raises(AssertionError, match=re.escape(named)):
        check_constraints(text)


# ---- Google Colab

COLAB = (ROOT / "tests/colab.txt").read_text()
(PYTHON_OF_COLAB,) = (
    step["with"]["python-version"]
    for step in JOBS["colab"]["steps"]
    if "setup" in step.get("uses", "")
)


def check_colab(pins, project):
    """The cell `install` changes none of Colab's packages and brings no JupyterLab or ipywidgets 8,
    which it cannot show (https://github.com/googlecolab/colabtools/issues/4525)."""
    there = {pin.name: pin.specifier for pin in map(Requirement, re.findall("^.+==.+", pins, re.M))}
    assert there.keys() >= {"anywidget", "ipywidgets", "matplotlib"}
    there |= dict.fromkeys(["pillow", "torch"])  # in any version
    for requirement in required(project, ["notebooks"], {"python_version": PYTHON_OF_COLAB}):
        assert requirement.name in there, f"{requirement} is not in Colab: move it to an extra"
        if there[requirement.name]:
            (pin,) = there[requirement.name]
            assert pin.version in requirement.specifier, f"Colab has {requirement.name}{pin}"


def test_colab_has_what_the_notebooks_need():
    check_colab(COLAB, PROJECT)


def test_a_dependency_that_colab_lacks_is_found():
    added = [*PROJECT["dependencies"], "jupyterlab>=4.2,<5"]
    with pytest.raises(AssertionError, match="jupyterlab<5,>=4.2 is not in Colab"):
        check_colab(COLAB, {**PROJECT, "dependencies": added})


# ---- The versions in our texts


def minor(version):
    return ".".join(version.split(".")[:2])


MATRIX = JOBS["pip"]["strategy"]["matrix"]["include"]
OLDEST, NEWEST = versions()[0], versions()[-1]
DAILY = minor(re.search("^torch==(.*)$", CONSTRAINTS, re.MULTILINE)[1])
TESTED = {OLDEST, DAILY, NEWEST}
VERSION = r"\d+\.\d+(?:\.\d+)?"
LIST = rf"{VERSION}(?:(?:, | to | and |, and ){VERSION})*"


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
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    check_changelog(changes, __version__, tags_of_this_commit())


def tags_of_this_commit():
    """Those that release.yml publishes; none where git or the repository is missing."""
    if not shutil.which("git"):
        return []
    asked = ["git", "tag", "--points-at", "HEAD", "v*"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.split()


def check_changelog(text, version, tags):
    """The newest section is about this version, or, on a commit without a tag, about the next."""
    latest = re.search(r"^## \[?(Unreleased|[0-9.]+)", text, re.MULTILINE)[1]
    assert tags in ([], [f"v{version}"]), f"the tag is not the version {version}"
    assert latest == version or (latest == "Unreleased" and not tags), f"{latest}, tags {tags}"


@pytest.mark.parametrize(
    ("latest", "tags", "fine"),
    [
        ("Unreleased", [], True),
        ("1.2.0 - 2026-12-01", [], True),
        ("1.2.0 - 2026-12-01", ["v1.2.0"], True),
        ("1.1.0 - 2026-12-01", [], False),
        ("Unreleased", ["v1.2.0"], False),
        ("1.2.0 - 2026-12-01", ["v1.2.1"], False),
    ],
)
def test_a_tag_or_a_section_of_another_version_is_found(latest, tags, fine):
    with nullcontext() if fine else pytest.raises(AssertionError):
        check_changelog(f"# Changelog\n\n## {latest}\n", "1.2.0", tags)


WORKFLOWS = {
    file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / ".github/workflows").glob("*")
}
MAY_WRITE = {("site", "publish"): {"pages", "id-token"}, ("release", "publish"): {"id-token"}}
EACH_JOB = pytest.mark.parametrize(
    ("workflow", "name"), [(w, job) for w, of in WORKFLOWS.items() for job in of["jobs"]]
)


@EACH_JOB
def test_a_job_has_a_limit_runs_actions_at_a_commit_and_writes_only_what_it_must(workflow, name):
    job = WORKFLOWS[workflow]["jobs"][name]
    assert WORKFLOWS[workflow]["permissions"] == {}
    written = {what for what, right in job["permissions"].items() if right == "write"}
    assert written == MAY_WRITE.get((workflow, name), set())
    if job.get("uses") == "./.github/workflows/test.yml":  # its jobs have theirs
        return
    assert job["timeout-minutes"] <= 90
    for step in job["steps"]:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", f"a/run@{40 * '0'}")), step
        if "apt-get install" in step.get("run", ""):
            assert "apt-get update" in step["run"]


def test_release_and_site_come_after_the_tests_and_no_push_ends_the_weekly_run():
    release, site, test = (WORKFLOWS[name] for name in ("release", "site", "test"))
    on = True  # YAML reads the key `on` as this
    assert (release["jobs"]["build"]["needs"], release["jobs"]["publish"]["needs"]) == (
        "tests",
        "build",
    )
    assert site[on].keys() == {"workflow_run", "workflow_dispatch"}
    assert "workflow_run.conclusion == 'success'" in site["jobs"]["build"]["if"]
    assert {"workflow_dispatch", "schedule", "workflow_call"} <= test[on].keys()
    assert "github.event_name" in test["concurrency"]["group"]


def test_two_rows_run_everything():
    assert [row["target"] for row in MATRIX].count("test-all") == 2


def stale_versions(text, known):
    """What a text says of versions and is not so: those of torch that are not in `known`, too."""
    complaints = []
    for name, said in re.findall(rf"\b(torch|TORCH|Python)(?:[ =]|==)({LIST})", text):
        found = list(map(minor, re.findall(VERSION, said)))
        wrong = sorted(set(found) - set(PYTHONS if name == "Python" else known))
        ends = (PYTHONS[0], PYTHONS[-1]) if name == "Python" else (OLDEST, NEWEST)
        if wrong:
            complaints.append(f"{name} {said}: {wrong} is not among {sorted(known)}, {PYTHONS}")
        elif " to " in said and tuple(found) != ends:
            complaints.append(f"{name} {said}: the range is {ends}")
        elif name != "Python" and len(found) > 2 and set(found) != TESTED:
            complaints.append(f"{name} {said}: {sorted(TESTED)} are tested")
    return complaints


BEFORE_ALL_THAT = "2.0"  # the torch that brought setup_context
TEXTS = {
    "README.md": TESTED,
    "docs/installing.md": TESTED | {minor(JOBS["colab"]["env"]["TORCH"])},
    "benchmarks/README.md": TESTED,
    "Makefile": TESTED | set(versions()),
    "CONTRIBUTING.md": versions(),
    **{str(path.relative_to(ROOT)): [*versions(), BEFORE_ALL_THAT] for path in notebook_files()},
}


@pytest.mark.parametrize("file", TEXTS)
def test_the_versions_in_our_texts_are_those_that_we_test(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    assert stale_versions(text, TEXTS[file]) == []


def test_a_stale_version_is_found():
    assert len(stale_versions("needs Python 3.9 to 3.14, and torch 2.7 to 2.15", TESTED)) == 2
