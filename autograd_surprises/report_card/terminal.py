"""The report card in a terminal: python -m autograd_surprises card module:function --shape 4,3."""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from autograd_surprises.messages import known_message
from autograd_surprises.more import more_about
from autograd_surprises.report_card.card import REFUSED, ReportCard
from autograd_surprises.report_card.questions import report_card

USAGE = "python -m autograd_surprises card"


def main(arguments: Sequence[str]) -> int:
    """Print the card of a function. 0 if it passed, 1 if not, 2 if it cannot be asked.

    >>> main(["ops:MyFunction", "--shape", "4,3"])  # doctest: +SKIP
    """
    given = _parser().parse_args(arguments)
    try:
        with torch.random.fork_rng([]):
            torch.default_generator.manual_seed(0)
            inputs = [
                torch.randn(shape, dtype=getattr(torch, given.dtype))
                for shape in given.shape or [(9,)]
            ]
        card = report_card(
            given.function,
            *inputs,
            like=given.like,
            compile=given.compile,
            seconds=given.seconds,
        )
    except (TypeError, ValueError) as error:
        print(f"{USAGE}: {error}", file=sys.stderr)
        return 2
    print(card)
    for id in _messages(card):
        print(f"more: {more_about(id)}")
    return 0 if card.passed else 1


def _parser():
    parser = argparse.ArgumentParser(USAGE, description=report_card.__doc__.partition("\n")[0])
    parser.add_argument(
        "function", type=_function, metavar="module:function",
        help="what to examine, such as ops:MyFunction (a Function: its apply)",
    )  # fmt: skip
    parser.add_argument(
        "--shape", type=sizes, action="append", metavar="4,3",
        help="shape of a random input; repeat it for each input (default: one of 9 numbers)",
    )  # fmt: skip
    parser.add_argument(
        "--like", type=_function, metavar="module:function",
        help="a function that has the intended gradient (default: finite differences)",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=["float64", "float32", "bfloat16", "float16"], default="float32",
        help="dtype of the inputs (default: float32)",
    )  # fmt: skip
    parser.add_argument("--compile", action="store_true", help="also examine torch.compile")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="start no check after this time (default: 120)"
    )
    return parser


def _function(text: str) -> Callable:
    """The function of this name, or the apply of the Function.

    >>> _function("torch.nn.functional:relu").__name__
    'relu'
    """
    module, _, name = text.partition(":")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} needs to be module:function, such as ops:gelu")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        if module.endswith(".py"):
            instead = f"{module} is a file: in its folder, write {Path(module).stem}:{name}"
            raise argparse.ArgumentTypeError(instead) from error
        raise argparse.ArgumentTypeError(str(error)) from error
    is_class = isinstance(found, type) and issubclass(found, torch.autograd.Function)
    return found.apply if is_class else found


def sizes(text: str) -> tuple[int, ...]:
    """The sizes; of a single number, none.

    >>> sizes("4,3"), sizes("")
    ((4, 3), ())
    """
    return tuple(int(size) for size in text.split(",") if size)


def _messages(card: ReportCard) -> list[str]:
    """The ids of PyTorch's messages that refused a row, each once."""
    known = [known_message(row.message) for row in card.rows if row.status == REFUSED]
    return list(dict.fromkeys(message.id for message in known if message))
