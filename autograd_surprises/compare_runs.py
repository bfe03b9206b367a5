"""python -m autograd_surprises compare: eager and compiled, or two recorded runs of a script."""

import argparse
import json
import os
import sys
from pathlib import Path

from autograd_surprises.comparing.compared import DIFFER, SAME, Compared
from autograd_surprises.comparing.compiled_model import CompiledRun
from autograd_surprises.comparing.first_backward import FirstBackward
from autograd_surprises.comparing.recorded_run import RecordedRun
from autograd_surprises.comparing.run_files import compare_runs, read_run
from autograd_surprises.report_files import cannot_write
from autograd_surprises.script import exit_code, run_module, run_script

USAGE = "python -m autograd_surprises compare"
CODES = {SAME: 0, DIFFER: 1}
NOT_COMPARED = 2
DESCRIPTION = """\
Say whether the gradients of a first training step are the same, and if not, whose differs first.

Eager and compiled (--compiled): run a script up to its first backward, call its model once more
eagerly and once through torch.compile, and compare the gradients. Two versions, machines or
programs: run the script in each with --record, then compare the two files. Each file holds a few
numbers for each parameter and operation. The script ends after its first step; it has to set its
random seed.

The exit code is 0 if the gradients are the same up to rounding, 1 if they differ, and 2 if that
cannot be told.
"""
EXAMPLES = """\
examples:
  python -m autograd_surprises compare --compiled train.py --epochs 3
  python -m autograd_surprises compare --record old.json -m package.train
  python -m autograd_surprises compare old.json new.json
"""


def main(words: list[str]) -> int:
    """Print the comparison, or record a run. Returns 0, 1 or 2.

    >>> main(["gone.json", "gone.json"])
    2
    """
    parser = argparse.ArgumentParser(
        prog=USAGE,
        usage="%(prog)s (--compiled | --record FILE) (train.py | -m module) [arguments]\n"
        "       %(prog)s a.json b.json",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module")
    parser.add_argument("--compiled", action="store_true", help="compare eager and compiled")
    parser.add_argument(
        "--backend", default="", metavar="NAME",
        help="of torch.compile (default: inductor, or aot_eager where inductor does not work)",
    )  # fmt: skip
    parser.add_argument("--record", type=os.path.abspath, metavar="FILE", help="record a run")
    options = parser.parse_args(words)
    target = options.module or options.target
    if options.compiled and options.record:
        parser.error("--compiled and --record are two questions: ask one after the other")
    if not options.compiled and not options.record:
        if len(target) != 2 or options.module:
            parser.error("give two recorded runs, or --compiled or --record and a script")
        return _compare_files(*target)
    if not target:
        parser.error(f"which script? For example: {USAGE} --compiled train.py")
    if not options.module and not os.path.isfile(target[0]):
        parser.error(f"there is no file {target[0]}")
    trouble = cannot_write(options.record)
    if trouble:
        parser.error(f"argument --record: {trouble}")
    run = run_module if options.module else run_script
    if options.record:
        return _record(options.record, run, target)
    return _compare_compiled(CompiledRun(options.backend), run, target)


def _compare_files(file_a, file_b):
    try:
        found = compare_runs(read_run(file_a), read_run(file_b))
    except ValueError as error:
        return _say(str(error))
    return _print(found)


def _record(file, run, target):
    recorded = RecordedRun()
    if not _ran(recorded, run, target):
        return NOT_COMPARED
    Path(file).write_text(json.dumps(recorded.data) + "\n", encoding="utf-8")
    count, loss = len(recorded.data["parameters"]), recorded.data["loss"]
    print(f"{file}: the gradients of {count} parameters, loss {loss:.6g}")
    return 0


def _compare_compiled(compared, run, target):
    if not _ran(compared, run, target):
        return NOT_COMPARED
    print(f"a is eager, b is compiled by {compared.backend}")
    if compared.why:
        print(f"inductor does not work here, so its kernels are not compared: {compared.why}")
    return _print(compared.found)


def _ran(watching: FirstBackward, run, target) -> bool:
    """Did the script reach its first step, and could that be examined?"""
    with watching:
        exit_code(run, target)
    if watching.trouble:
        _say(f"{target[0]}: {watching.trouble}")
    return not watching.trouble


def _say(text):
    print(f"{USAGE}: {text}", file=sys.stderr)
    return NOT_COMPARED


def _print(found: Compared) -> int:
    print(found)
    return CODES.get(found.status, NOT_COMPARED)
