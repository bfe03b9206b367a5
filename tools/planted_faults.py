"""Plant the faults of tests/planted_faults.toml one at a time, and see which test catches each.

    python tools/planted_faults.py                  all of them: takes an hour or two
    python tools/planted_faults.py fresh-07 card    these faults, or those of these rooms
    python tools/planted_faults.py --check          does each still fit its file? A second

`--tree FOLDER` plants them in another working tree. Options that are not known go to pytest.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "planted_faults.toml"
QUICK = 30  # seconds that the test which catches a fault may take


def planted(file: Path = LIST) -> dict[str, dict]:
    """{id: fault}; its tests are its own and those of its room."""
    faults = tomllib.loads(file.read_text(encoding="utf-8"))
    rooms = faults.pop("rooms")
    for fault in faults.values():
        fault["tests"] = [*fault.get("tests", []), *rooms[fault["room"]]]
    return faults


def misfits(faults: dict[str, dict], tree: Path) -> list[str]:
    """What no longer fits: each text has to be in its file once, and each of its tests exist."""
    wrong = []
    for id, fault in faults.items():
        file = tree / fault["file"]
        times = file.read_text(encoding="utf-8").count(fault["find"]) if file.exists() else 0
        if times != 1:
            wrong.append(f"{id}: {fault['file']} has its text {times} times, not once")
        wrong += [f"there is no {path}" for path in fault["tests"] if not (tree / path).exists()]
    return list(dict.fromkeys(wrong))


def copy_tracked(tree: Path, target: Path) -> None:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (tree / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target / name)


def write(file: Path, text: str) -> None:
    """Write a source file, and drop its bytecode, which may look just as new."""
    file.write_text(text, encoding="utf-8", newline="\n")
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def caught_by(fault: dict, copy: Path, options: list[str]) -> tuple[str, float]:
    """The first test that fails, and its seconds; ("", 0) if all pass."""
    report = copy / "planted.xml"
    report.unlink(missing_ok=True)
    wanted = [] if fault.get("browser") else ["-m", "not browser"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *wanted]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, f"--junitxml={report}", *options, *dict.fromkeys(fault["tests"])],
        cwd=copy, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return "", 0.0
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        if case.find("failure") is not None or case.find("error") is not None:
            return f"{case.get('classname')}::{case.get('name')}", float(case.get("time"))
    raise RuntimeError(f"pytest itself failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wanted", nargs="*", metavar="ID or room")
    parser.add_argument("--check", action="store_true", help="only check that each fits its file")
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="FOLDER")
    options, for_pytest = parser.parse_known_args()
    faults = {
        id: fault
        for id, fault in planted().items()
        if not options.wanted or {id, fault["room"]} & {*options.wanted}
    }
    if wrong := misfits(faults, options.tree) or ["no such fault"] * (not faults):
        sys.exit("\n".join(wrong))
    if options.check:
        return
    times = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_tracked(options.tree, copy)
        for id, fault in faults.items():
            file = copy / fault["file"]
            right = file.read_text(encoding="utf-8")
            write(file, right.replace(fault["find"], fault["replace"]))
            test, seconds = caught_by(fault, copy, for_pytest)
            write(file, right)
            times += [seconds] if test else []
            found = f"caught by {test}, {seconds:.1f} s" if test else "SURVIVED"
            print(f"{id} ({fault['room']}) {fault['name']}: {found}", flush=True)
    quick = sum(seconds < QUICK for seconds in times)
    print(f"caught {len(times)} of {len(faults)}, each by a test under {QUICK} s: {quick}")


if __name__ == "__main__":
    main()
