"""A step whose forward pass is recorded, and each gradient of whose backward is kept."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.comparing.one_step import Step, first_line, is_compiled, loss_of
from autograd_surprises.recording.forward_values import numbers_in
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import Recorder


class NotWatched(Exception):
    """The message says why the operations of a step are not known."""


@dataclass(frozen=True)
class WatchedStep:
    """One step, watched.

    loss      with its graph
    parameters  by name, those that it used
    recorder  of its forward pass
    history   which call made which node
    backward  with the gradients that arrived at each operation, and left it
    ran       its operations, in the order of backward
    keys      (path of the module, name of the operation) of each of these
    inputs    of each relu, whose node does not keep it, by the number of the node
    """

    loss: torch.Tensor
    parameters: Mapping[str, nn.Parameter]
    recorder: Recorder
    history: History
    backward: Backward
    ran: list[BackwardStep]
    keys: list[tuple[str, str]]
    inputs: dict[int, torch.Tensor]


def watch_step(
    step: Step, name: str, model: nn.Module, parameters: Mapping[str, nn.Parameter]
) -> WatchedStep:
    """Run a step and watch its backward.

    Raises NotWatched if a part of it is compiled, or nobody else may run its backward.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> step, parameters = lambda: layer(torch.ones(3, 2)).sum(), dict(layer.named_parameters())
    >>> watch_step(step, "step_a", layer, parameters).keys
    [('', 'SumBackward0'), ('Linear', 'MmBackward0'), ('Linear', 'TBackward0')]
    """
    recorder = _Recorder(eager="torch._dynamo" not in sys.modules)
    recorder.name_parts(model)
    with recorder:
        loss = loss_of(step, name, parameters)
    history, backward = History(recorder), Backward(loss.grad_fn, keep=True)
    if recorder.ended or any(map(is_compiled, backward.steps.values())):
        raise NotWatched("is compiled, so operations inside of it cannot be told apart")
    with backward.unnoticed(), torch._C.DisableTorchFunction():
        try:
            backward.run(loss, None)
        except RuntimeError as error:
            raise NotWatched(f"cannot be watched: {first_line(error)}") from error
    ran = sorted(backward.ran(), key=lambda step: step.order)
    calls = [history.call_of(step.node) for step in ran]
    for each, call in zip(ran, calls, strict=True):
        if call is not None:
            each.where = call.node_line
            each.called = "" if call.function else call.operation
    modules = [call.module if call else "" for call in calls]
    keys = [(module, step.name) for module, step in zip(modules, ran, strict=True)]
    return WatchedStep(loss, parameters, recorder, history, backward, ran, keys, recorder.inputs)


class _Recorder(Recorder):
    """It also keeps what goes into each relu, by the number of its node."""

    def __init__(self, eager):
        super().__init__(eager)
        self.inputs: dict[int, torch.Tensor] = {}

    def _note(self, caller, name, inputs, outputs, before, kwargs):
        if name == "relu":
            self.inputs[before] = numbers_in(inputs[0])
        super()._note(caller, name, inputs, outputs, before, kwargs)
