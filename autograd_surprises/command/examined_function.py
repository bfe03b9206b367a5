"""The report card of a function: the command `card`."""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch

from autograd_surprises.facts.more import more_about
from autograd_surprises.messages import known_message
from autograd_surprises.report_card.card import REFUSED, ReportCard
from autograd_surprises.report_card.questions import report_card

DESCRIPTION = (report_card.__doc__ or "").partition("\n")[0]  # none under python -OO
USAGE = "module:function [--shape 4,3] ..."


def act(given: argparse.Namespace, fail: Callable[[str], NoReturn]) -> int:
    """Print the card of a function. Returns 0 if it passed, or 1."""
    try:
        with torch.random.fork_rng([]):
            torch.default_generator.manual_seed(0)
            inputs = [
                torch.randn(shape, dtype=getattr(torch, given.dtype))
                for shape in given.shape or [(9,)]
            ]
        card = report_card(given.function, *inputs, like=given.like, compile=given.compile)
    except (TypeError, ValueError) as error:
        fail(str(error))
    print(card)
    for id in _messages(card):
        print(f"more: {more_about(id)}")
    return 0 if card.passed else 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the function, its inputs, and what else is asked about it."""
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


def _function(text: str) -> Callable:
    """The function of this name, or the apply of the Function."""
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
