"""Run a training script unchanged, and say which gradients are bad: the command `run`."""

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import NoReturn

from autograd_surprises import __version__
from autograd_surprises.command.report_files import (
    cannot_write,
    file_of_rank,
    said_by_rank,
    write_json,
)
from autograd_surprises.command.script import add_script, chosen_script, exit_code
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.doctor.watch.watching import watch
from autograd_surprises.facts.processes import rank_and_size

STOPPED = 3  # the exit code of --stop
DESCRIPTION = """\
Run a training script unchanged, and say which gradients are bad and which line made them so.

It examines the first training step, and each step in which something turns bad: the loss or a
gradient is not finite, a gradient that was there in every step is None or zero for two steps in a
row (for ten, if its parameter was not used), or the gradients are 1,000 times their usual size. It
also reports what the first two steps of an optimizer do not move, and some mistakes of the loop.
Reports go to stderr, with a summary at the end. The output and the exit code are the
script's own.
"""
USAGE = "[options] (train.py | -m package.module) [arguments of the script]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the script, and what is wanted of the watch.

    >>> parser = argparse.ArgumentParser(); add_arguments(parser)
    >>> parser.parse_args(["--steps", "1,100", "train.py"]).steps
    [1, 100]
    """
    add_script(parser)
    parser.add_argument(
        "--steps", type=_steps, default=(1,), metavar="1,100",
        help="numbers of the steps to examine in any case (default: 1)",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"autograd-surprises {__version__}")
    parser.add_argument(
        "--stop", action="store_true", help=f"stop at the first alarm, with exit code {STOPPED}"
    )
    parser.add_argument(
        "--json", type=os.path.abspath, metavar="FILE", help="write all reports as JSON"
    )


def _steps(text):
    try:
        steps = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"needs numbers of steps, such as 1,100, not {text!r}"
        ) from None
    if min(steps) < 1:
        raise argparse.ArgumentTypeError("steps are counted from 1")
    return steps


class WatchedScript(watch):
    """A watch that prints each report to stderr."""

    def __init__(self, options: argparse.Namespace):
        super().__init__(steps=options.steps)
        self._stop = options.stop
        self.stopping = False  # was the script told to end?
        self._stderr = sys.stderr
        self.rank, self.size = rank_and_size()  # as torchrun sets them

    def say(self, text: str) -> None:
        """Print to stderr. If nobody reads it any more, training goes on."""
        text = f"autograd_surprises: {text}\n"
        try:
            self._stderr.flush()
            data = text.encode(self._stderr.encoding or "utf-8", "backslashreplace")
            while data:  # nothing stays behind in a buffer
                data = data[os.write(self._stderr.fileno(), data) :]
        except io.UnsupportedOperation:  # a stream that is no file
            self._stderr.write(text)
        except (OSError, ValueError, AttributeError):  # gone, closed, or never there
            pass

    def reported(self, report: StepReport) -> None:
        if self.stopping:
            return
        text = said_by_rank(report, self.rank, self.size)
        if text:
            self.say(text)
        if self._stop and not report.healthy:
            self.stopping = True
            raise SystemExit(STOPPED)

    def before_backward(self, *what) -> None:
        if self.stopping:  # a bare except has swallowed that
            self.end()
            os._exit(STOPPED)
        super().before_backward(*what)

    def end(self) -> None:
        """Say and write all that was found; set by whoever knows where to."""


def act(options: argparse.Namespace, fail: Callable[[str], NoReturn]) -> int | str | None:
    """Run the script, and return its exit code."""
    run, target = chosen_script(options, fail)
    rank, _ = rank_and_size()
    file = file_of_rank(options.json, rank)
    trouble = cannot_write(file)
    if trouble:
        fail(f"argument --json: {trouble}")
    watched = WatchedScript(options)

    def finish():
        if rank == 0 or not watched.healthy:
            watched.say(watched.summary)
        try:
            if file:
                write_json(file, watched)
        except OSError as error:  # the exit code is not lost
            watched.say(f"{file} was not written: {error.strerror}")

    def end():
        watched.__exit__()
        finish()
        for stream in sys.stdout, sys.stderr:
            with suppress(Exception):
                stream.flush()

    watched.end = end
    with _before_termination(finish):
        try:
            with watched:
                code = exit_code(run, target)
        except SystemExit as left:  # --stop, at something that is certain only at the end
            code = left.code
        finally:
            finish()
    return STOPPED if watched.stopping else code


@contextmanager
def _before_termination(act):
    """Call `act` before SIGTERM ends this process, unless somebody else handles the signal."""
    ours, kill = os.getpid(), signal.SIGTERM

    def terminated(number, frame):
        last = signal.getsignal(kill) is terminated  # else a handler of the script called this one
        try:
            if os.getpid() == ours:  # a forked child says nothing
                act()
        finally:
            if last:
                signal.signal(kill, signal.SIG_DFL)
                os.kill(os.getpid(), kill)

    mine = threading.current_thread() is threading.main_thread()
    mine = mine and signal.getsignal(kill) is signal.SIG_DFL
    if mine:
        signal.signal(kill, terminated)
    try:
        yield
    finally:
        if mine and signal.getsignal(kill) is terminated:
            signal.signal(kill, signal.SIG_DFL)
