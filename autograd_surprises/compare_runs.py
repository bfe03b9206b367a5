"""python -m autograd_surprises compare: eager and compiled, or two recorded runs of a script."""

import argparse
import json
import os
import sys
from pathlib import Path

from autograd_surprises.comparing.compared import DIFFER, SAME, UNDECIDED, Compared
from autograd_surprises.comparing.compiled_model import CompiledRun
from autograd_surprises.comparing.recorded_run import RecordedRun
from autograd_surprises.comparing.run_files import compare_runs, read_run
from autograd_surprises.report_files import cannot_write
from autograd_surprises.script import add_script, chosen_script, exit_code

USAGE = "python -m autograd_surprises compare"
NOT_COMPARED = 2
CODES = {SAME: 0, DIFFER: 1, UNDECIDED: NOT_COMPARED}
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
    add_script(parser)
    parser.add_argument("--compiled", action="store_true", help="compare eager and compiled")
    parser.add_argument(
        "--backend", default="", metavar="NAME",
        help="of torch.compile (default: inductor, or aot_eager where inductor does not work)",
    )  # fmt: skip
    parser.add_argument("--record", type=os.path.abspath, metavar="FILE", help="record a run")
    options = parser.parse_args(words)
    if options.compiled and options.record:
        parser.error("--compiled and --record are two questions: ask one after the other")
    two_files = not (options.compiled or options.record)
    if two_files and (len(options.script) != 2 or options.module):
        parser.error("give two recorded runs, or --compiled or --record and a script")
    script = None if two_files else chosen_script(parser, options)
    trouble = cannot_write(options.record)
    if trouble:
        parser.error(f"argument --record: {trouble}")
    try:
        if two_files:
            return _print(compare_runs(*map(read_run, options.script)))
        if options.record:
            return _record(options.record, script)
        return _compare_compiled(CompiledRun(options.backend), script)
    except ValueError as error:
        print(f"{USAGE}: {error}", file=sys.stderr)
        return NOT_COMPARED


def _record(file, script):
    recorded = _ran(RecordedRun(), *script)
    Path(file).write_text(json.dumps(recorded.data) + "\n", encoding="utf-8")
    count, loss = len(recorded.data["parameters"]), recorded.data["loss"]
    print(f"{file}: the gradients of {count} parameters, loss {loss:.6g}")
    return CODES[SAME]


def _compare_compiled(compared, script):
    _ran(compared, *script)
    print(f"a is eager, b is compiled by {compared.backend}")
    if compared.why:
        print(f"inductor does not work here, so its kernels are not compared: {compared.why}")
    return _print(compared.found)


def _ran(watching, run, target):
    """A context, after the script has run in it; ValueError if its first step is not examined."""
    with watching:
        exit_code(run, target)
    if watching.trouble:
        raise ValueError(f"{target[0]}: {watching.trouble}")
    return watching


def _print(found: Compared) -> int:
    print(found)
    return CODES[found.status]
