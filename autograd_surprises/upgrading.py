"""python -m autograd_surprises upgrade train.py: what another torch changes in a training step."""

import argparse
import sys
from collections.abc import Collection

from autograd_surprises.atlas.upgrade import UpgradeReport, compared, examine_step
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor.interception import Interception
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.script import add_script, add_steps, chosen_script, exit_code
from autograd_surprises.several_processes import alone, rank_and_size

SAME, CHANGES, UNKNOWN = 0, 1, 2  # exit codes
DESCRIPTION = """\
Run a training script unchanged, and say what its first training step gets from another torch: at
which lines the default gradient of an operation changed between two versions, how many elements of
this step lie exactly there, and how much the gradients of the parameters change. It needs only the
installed torch; the other version was measured.
"""
EPILOG = f"""\
The report goes to stderr as soon as the step is examined. The exit code is {SAME} if nothing
changes in this step, {CHANGES} if something does, and {UNKNOWN} if that cannot be said.
"""


class StepsCompared(Interception):
    """Compares two torch versions in some training steps, each of which ends with an optimizer's.

    reports   of each loss that reached other leaves than those before it in its step
    troubles  why a step could not be examined

    >>> w = torch.tensor([1.0, 3.0], requires_grad=True)
    >>> with StepsCompared(("2.13", "2.15")) as steps:
    ...     w.clamp(-1, 1).sum().backward()
    >>> steps.exit_code
    1
    """

    def __init__(self, pair: tuple[str, str], steps: Collection[int] = (1,)) -> None:
        self.pair, self.steps = pair, frozenset(steps)
        self.step, self._stepped = 0, True
        self.reports: list[UpgradeReport] = []
        self.troubles: list[str] = []
        self._recorder, self._recording = Recorder(eager=False), False
        self._reached: set[int] = set()

    @property
    def exit_code(self) -> int:
        if any(report.changes for report in self.reports):
            return CHANGES
        doubts = self.troubles or any(report.doubts for report in self.reports)
        return UNKNOWN if doubts or not self.reports else SAME

    def reported(self, text: str) -> None:
        """Called with each report or trouble; for a subclass."""

    def __enter__(self):
        super().__enter__()
        self._record(1 in self.steps)
        return self

    def __exit__(self, *error):
        self._record(False)
        super().__exit__(*error)

    def abandon(self):
        self._record(False)
        super().abandon()

    def _record(self, on):
        if on and not self._recording:
            self._recorder.__enter__()
        elif self._recording and not on:
            self._recorder.__exit__(None, None, None)
        self._recording = on

    def before_backward(self, roots, weights, inputs, frame):
        if self._stepped:
            self.step, self._stepped, self._reached = self.step + 1, False, set()
        if self.step in self.steps:
            try:
                self._examine(roots, weights, frame)
            except Exception as error:  # the training goes on
                self._trouble(f"{type(error).__name__}: {error}")

    def after_optimizer(self, optimizer):
        self._stepped = True
        self._record(self.step + 1 in self.steps)

    def _examine(self, roots, weights, frame):
        if len(roots) > 1:
            return self._trouble("its backward() is of several tensors at once")
        leaves = {id(x) for x in Backward(roots[0].grad_fn).leaves} if roots[0].grad_fn else set()
        if leaves <= self._reached:  # the next part of a batch
            return None
        self._reached |= leaves
        with alone() as refused:
            report = examine_step(roots[0], self._recorder, self.pair, weights, frame)
            self.reports.append(report)
            self.reported(f"step {self.step}, {report}")
        return self._trouble(refused[0]) if refused else None

    def _trouble(self, why):
        self.troubles.append(f"step {self.step} could not be examined: {why}")
        self.reported(self.troubles[-1])


class _Printed(StepsCompared):
    def reported(self, text):
        if rank_and_size()[0] == 0:
            _say(text)


def _say(text):
    print(f"autograd_surprises: {text}", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    """Run the script; 0 if nothing changes in its step, 1 if something does, else 2."""
    parser = argparse.ArgumentParser(
        prog="python -m autograd_surprises upgrade",
        usage="%(prog)s [options] (train.py | -m package.module) [arguments of the script]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_script(parser)
    add_steps(parser)
    parser.add_argument(
        "--from", dest="old", metavar="2.13", help="a torch version (default: the installed one)"
    )
    parser.add_argument(
        "--to", dest="new", metavar="2.15", help="another one (default: the newest one measured)"
    )
    options = parser.parse_args(words)
    try:
        pair = compared(options.old, options.new)
    except ValueError as error:
        parser.error(str(error))
    run, target = chosen_script(parser, options)
    with _Printed(pair, options.steps) as steps:
        exit_code(run, target)
    if not (steps.reports or steps.troubles):
        _say(f"no training step was examined: {steps.step} were seen")
    return steps.exit_code
