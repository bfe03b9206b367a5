"""Are the gradients of a script the same through torch.compile? The command `compare`."""

import argparse
from collections.abc import Callable
from typing import NoReturn

from autograd_surprises.command.script import add_script, chosen_script, exit_code
from autograd_surprises.comparing.compiled_step import CompiledRun
from autograd_surprises.comparing.gradient_pairs import DIFFER, SAME

DESCRIPTION = """\
Run a script up to its first backward(), call its model once more eagerly and once through
torch.compile, and say whether the gradients are the same, and if not, whose differs first.

The exit code is 0 if they are the same up to rounding, 1 if they differ, and 2 if that cannot be
told.
"""
USAGE = "--compiled [--backend NAME] (train.py | -m module) [arguments]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the script and the compiler.

    >>> parser = argparse.ArgumentParser(); add_arguments(parser)
    >>> parser.parse_args(["--compiled", "train.py"]).backend
    'inductor'
    """
    add_script(parser)
    parser.add_argument(
        "--compiled", action="store_true", required=True, help="compare eager and compiled"
    )
    parser.add_argument(
        "--backend", default="inductor", metavar="NAME",
        help="of torch.compile (default: inductor; where that does not work, take aot_eager)",
    )  # fmt: skip


def act(options: argparse.Namespace, fail: Callable[[str], NoReturn]) -> int:
    """Print the comparison. Returns 0 or 1, or 2 if it cannot be told."""
    run, target = chosen_script(options, fail)
    with CompiledRun(options.backend) as step:
        exit_code(run, target)
    if step.found is None:
        fail(f"{target[0]}: {step.trouble}")
    print(f"{step.module}: a is eager, b is compiled by {step.backend}")
    print(step.found)
    return {SAME: 0, DIFFER: 1}.get(step.found.status, 2)
