"""What is asked in a terminal: the four commands, and how each of them ends."""

import argparse
import os
import sys
from typing import NoReturn

from autograd_surprises.command import compared, examined_function, explained, watched_script

PROGRAM = "python -m autograd_surprises"
COMMANDS = {
    "run": watched_script,
    "explain": explained,
    "card": examined_function,
    "compare": compared,
}
DEFAULT = "run"
EXAMPLES = """\
examples:
  python -m autograd_surprises train.py --epochs 3
  python -m autograd_surprises --steps 1,100 --stop --json found.json -m package.train
  python -m autograd_surprises card package.module:function --shape 4,3
  python -m autograd_surprises compare --compiled train.py
  python -m autograd_surprises explain "element 0 of tensors does not require grad"
  python -m autograd_surprises explain zero-factor/number
"""
NOT_ASKED = 2  # the exit code of what cannot be asked


def whole_parser() -> argparse.ArgumentParser:
    """What all commands understand. Each module of COMMANDS has DESCRIPTION, USAGE, add_arguments
    and act, which returns the exit code.
    """
    whole = argparse.ArgumentParser(prog=PROGRAM)
    commands = whole.add_subparsers(required=True)
    for name, module in COMMANDS.items():
        prog = PROGRAM if name == DEFAULT else f"{PROGRAM} {name}"
        parser = commands.add_parser(
            name, prog=prog, usage=f"{prog} {module.USAGE}", description=module.DESCRIPTION,
            epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )  # fmt: skip
        module.add_arguments(parser)
        parser.set_defaults(act=module.act, parser=parser)
    return whole


def main(words: list[str]) -> int | str | None:
    """Do what is asked, and return the exit code; without a command, run a script.

    >>> main(["explain", "hook/zero"])  # doctest: +ELLIPSIS
    hook/zero
      a hook replaced the gradient by zeros
      ...
    0
    """
    known = words[:1] and words[0] in COMMANDS
    options, unknown = whole_parser().parse_known_args(words if known else [DEFAULT, *words])
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")

    def fail(why: str) -> NoReturn:
        print(f"{options.parser.prog}: error: {why}", file=sys.stderr)
        raise SystemExit(NOT_ASKED)

    try:
        return options.act(options, fail)
    except BrokenPipeError:  # `| head` has enough; Python would complain again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
