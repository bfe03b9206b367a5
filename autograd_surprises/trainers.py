"""The doctor as a callback of a Trainer: of Lightning, and of transformers.

A framework is imported when a callback for it is made.
"""

import sys
from collections.abc import Callable, Collection
from functools import cache

import torch
from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.rounded_updates import sample
from autograd_surprises.doctor.step_reports import StepReport
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.doctor.watching import watch
from autograd_surprises.report_files import said_by_rank
from autograd_surprises.several_processes import own_part


class SpeakingWatch(watch):
    """A watch that prints its reports to stderr, and a summary at its end.

    With `measures`, it measures each step of an optimizer:

    sizes  gradient_norm, of all gradients as the optimizer gets them, and moved_share, of up to
           4,096 elements of each parameter: how many of them the step changed

    >>> w = torch.ones(4, requires_grad=True)
    >>> sgd = torch.optim.SGD([w], lr=0.1)
    >>> with SpeakingWatch(steps=(), measures=True) as speaking:
    ...     w[:1].sum().backward(); sgd.step()
    >>> speaking.sizes
    {'doctor/gradient_norm': 1.0, 'doctor/moved_share': 0.25}
    """

    def __init__(self, steps: Collection[int] = (1,), measures: bool = False) -> None:
        super().__init__(steps=steps)
        self.sizes: dict[str, float] = {}
        self._measures, self._samples = measures, []

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self.processes[0] == 0 or not self.healthy:
            _say(self.summary)

    def reported(self, report: StepReport) -> None:
        text = said_by_rank(report, *self.processes)
        if text:
            _say(text)

    def before_optimizer(self, optimizer: Optimizer) -> None:
        super().before_optimizer(optimizer)
        if self._measures and not self._busy:
            with self._careful():
                parameters = [p for p in parameters_of(optimizer) if p.grad is not None]
                self._samples = [(p, sample(own_part(p)).clone()) for p in parameters]
                sizes = torch.tensor([size for size in norms(parameters) if size is not None])
                self.sizes["doctor/gradient_norm"] = float(sizes.norm())

    def after_optimizer(self, optimizer: Optimizer) -> None:
        super().after_optimizer(optimizer)
        if self._samples:
            with self._careful():
                pairs = [(sample(own_part(p)), before) for p, before in self._samples]
                moved = sum(int((now != before).sum()) for now, before in pairs)
                self.sizes["doctor/moved_share"] = moved / sum(len(now) for now, _ in pairs)
            self._samples = []


def _say(text):
    print(f"autograd_surprises: {text}", file=sys.stderr, flush=True)


class _Doctor:
    """What both have in common: a watch from the start of a training to its end."""

    watched: SpeakingWatch | None = None  # of the latest training
    _running = False

    def _begin(self, steps, measures):
        self.stop()  # of a training that raised an error
        self.watched = SpeakingWatch(steps, measures)
        self.watched.__enter__()
        self._running = True

    def stop(self) -> None:
        """End the watch, as the end of the training does."""
        if self._running:
            self._running = False
            self.watched.__exit__(None, None, None)


def LightningDoctor(steps: Collection[int] = (1,), log: bool = False):  # noqa: N802  makes one
    """A callback for Lightning: Trainer(callbacks=[LightningDoctor()]).

    steps  numbers of the steps to examine in any case
    log    hand the sizes of SpeakingWatch to your logger, through LightningModule.log_dict

    Its `watched` is the SpeakingWatch of the latest training. Raises ImportError without Lightning.
    """
    return _lightning_callback()(steps, log)


def TransformersDoctor(  # noqa: N802
    steps: Collection[int] = (1,), log: Callable[[dict], None] | None = None
):
    """A callback for the Trainer of transformers: trainer.add_callback(TransformersDoctor()).

    steps  numbers of the steps to examine in any case
    log    trainer.log, to hand it the sizes of SpeakingWatch whenever the Trainer logs

    Its `watched` is the SpeakingWatch of the latest training. An error in the training is told to
    no callback: then it watches until the next train(), or until its stop(). Raises ImportError
    without transformers.
    """
    return _transformers_callback()(steps, log)


@cache
def _lightning_callback():
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback

    class Doctor(_Doctor, Callback):
        def __init__(self, steps, log):
            self.steps, self.logs = steps, log  # Lightning gives each callback a method `log`

        def __reduce__(self):
            return LightningDoctor, (self.steps, self.logs)

        def on_train_start(self, trainer, pl_module):
            self._begin(self.steps, self.logs)

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            if self.logs and self.watched.sizes:
                pl_module.log_dict(self.watched.sizes)

        def on_train_end(self, trainer, pl_module):
            self.stop()

        def on_exception(self, trainer, pl_module, exception):
            self.stop()

    return Doctor


@cache
def _transformers_callback():
    from transformers import TrainerCallback

    class Doctor(_Doctor, TrainerCallback):
        def __init__(self, steps, log):
            self.steps, self.log = steps, log

        def on_train_begin(self, args, state, control, **others):
            self._begin(self.steps, self.log is not None)

        def on_step_end(self, args, state, control, **others):
            if self.log is not None and control.should_log and self.watched.sizes:
                self.log(dict(self.watched.sizes))
                control.should_log = True  # which log() has reset, before the loss is logged

        def on_train_end(self, args, state, control, **others):
            self.stop()

    return Doctor
