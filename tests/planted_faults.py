"""Plant the faults of tests/planted_faults.toml one at a time, and see which test catches each.

    python tests/planted_faults.py                  all of them: takes an hour or two
    python tests/planted_faults.py fresh-07 card    these faults, or those of these rooms

A test that catches a fault has to pass without it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from autograd_surprises.facts.toml_data import tomllib

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "planted_faults.toml"
QUICK = 30  # seconds that the test which catches a fault may take


def planted() -> dict[str, dict]:
    """{id: fault}; its tests are its own and those of its room."""
    faults = tomllib.loads(LIST.read_text(encoding="utf-8"))
    rooms = faults.pop("rooms")
    for fault in faults.values():
        fault["tests"] = [*fault.get("tests", []), *rooms[fault["room"]]]
    return faults


def misfits(faults: dict[str, dict]) -> list[str]:
    """What no longer fits: each text has to be in its file once, and each of its tests exist."""
    wrong = []
    for id, fault in faults.items():
        file = ROOT / fault["file"]
        times = file.read_text(encoding="utf-8").count(fault["find"]) if file.exists() else 0
        if times != 1:
            wrong.append(f"{id}: {fault['file']} has its text {times} times, not once")
        wrong += [f"there is no {path}" for path in fault["tests"] if not (ROOT / path).exists()]
    return list(dict.fromkeys(wrong))


def copy_tracked(target: Path) -> None:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def write(file: Path, text: str) -> None:
    """Write a source file, and drop its bytecode, which may look just as new."""
    file.write_text(text, encoding="utf-8", newline="\n")
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def first_red(tests: list[str], copy: Path, browser: bool) -> tuple[str, str, float] | None:
    """The first test that fails: its file, its name and its seconds. None if all pass."""
    report = copy / "planted.xml"
    report.unlink(missing_ok=True)
    wanted = [] if browser else ["-m", "not browser"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *wanted]
    own = {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "REQUIRE_BROWSER": "1"}
    done = subprocess.run(
        [*command, "-o", "junit_family=xunit1", f"--junitxml={report}", *dict.fromkeys(tests)],
        cwd=copy, env={**os.environ, **own}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        if case.find("failure") is not None or case.find("error") is not None:
            return case.get("file"), case.get("name"), float(case.get("time"))
    raise RuntimeError(f"pytest itself failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main(wanted: list[str]) -> None:
    every = planted()
    if unknown := {*wanted} - {*every} - {fault["room"] for fault in every.values()}:
        sys.exit(f"neither a fault nor a room: {', '.join(sorted(unknown))}")
    faults = {
        id: fault for id, fault in every.items() if not wanted or {id, fault["room"]} & {*wanted}
    }
    if wrong := misfits(faults):
        sys.exit("\n".join(wrong))
    times = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_tracked(copy)
        for id, fault in faults.items():
            file = copy / fault["file"]
            right = file.read_text(encoding="utf-8")
            write(file, right.replace(fault["find"], fault["replace"]))
            red = first_red(fault["tests"], copy, fault.get("browser", False))
            write(file, right)
            found = "SURVIVED"
            if red:
                test, name, seconds = red
                if first_red([test], copy, fault.get("browser", False)):
                    sys.exit(f"{id}: {test}::{name} is red without the fault, too")
                times.append(seconds)
                found = f"caught by {test}::{name}, {seconds:.1f} s"
            print(f"{id} ({fault['room']}) {fault['name']}: {found}", flush=True)
    quick = sum(seconds < QUICK for seconds in times)
    print(f"caught {len(times)} of {len(faults)}, {quick} of them by a test under {QUICK} s")


if __name__ == "__main__":
    main(sys.argv[1:])
