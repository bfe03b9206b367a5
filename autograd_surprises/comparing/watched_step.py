"""A step whose forward pass is recorded, and each gradient of whose backward is kept."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.comparing.one_step import Step, is_compiled, loss_of
from autograd_surprises.recording.forward_calls import ForwardCall
from autograd_surprises.recording.forward_values import numbers_in
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.recorder import Recorder


class Value(NamedTuple):
    """One result of a call of torch: its name, its line, and the numbers it had then."""

    name: str
    where: Where | None
    numbers: torch.Tensor


class ValueRecorder(Recorder):
    """It also keeps numbers.

    values  of each floating-point result of a call
    inputs_of_relu  what went into each, whose node does not keep it, by the number of the node

    >>> with ValueRecorder() as recorder:
    ...     y = torch.ones(2).exp() * 2
    >>> [value.name for value in recorder.values]
    ['ones', 'exp', 'mul']
    """

    def __init__(self, eager: bool = True):
        super().__init__(eager)
        self.values: list[Value] = []
        self.inputs_of_relu: dict[int, torch.Tensor] = {}

    def _note(self, caller, name, inputs, outputs, before, kwargs):
        if name == "relu":
            self.inputs_of_relu[before] = numbers_in(inputs[0])
        self._keep(caller, name, outputs)
        super()._note(caller, name, inputs, outputs, before, kwargs)

    def _note_change(self, caller, name, inputs, outputs, before, kwargs):
        self._keep(caller, name, outputs)
        super()._note_change(caller, name, inputs, outputs, before, kwargs)

    def _keep(self, caller, name, outputs):
        floats = [tensor for tensor in outputs if tensor.is_floating_point()]
        self.values += [Value(name, where_from(caller), numbers_in(t)) for t in floats]


@dataclass(frozen=True)
class WatchedStep:
    """One step, watched.

    parameters  by name
    backward  with the gradients that arrived at each operation, and left it
    ran       its operations, in the order of backward
    keys      (path of the module, name of the operation) of each of these
    recorder  with numbers of its forward pass
    """

    parameters: Mapping[str, nn.Parameter]
    backward: Backward
    ran: list[BackwardStep]
    keys: list[tuple[str, str]]
    recorder: ValueRecorder


def watch_step(
    step: Step, name: str, parameters: Mapping[str, nn.Parameter], model: nn.Module
) -> WatchedStep:
    """Run a step and watch its backward.

    Raises ValueError if a part of it is compiled, or RuntimeError if it must not run here.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> step, parameters = lambda: layer(torch.ones(3, 2)).sum(), dict(layer.named_parameters())
    >>> watch_step(step, "step_a", parameters, layer).keys
    [('', 'SumBackward0'), ('Linear', 'MmBackward0'), ('Linear', 'TBackward0')]
    """
    recorder = ValueRecorder(eager="torch._dynamo" not in sys.modules)
    recorder.name_parts(model)
    with recorder:
        loss, _ = loss_of(step, name, parameters)
    backward = Backward(loss.grad_fn, keep=True)
    if recorder.ended or any(map(is_compiled, backward.steps.values())):
        raise ValueError("is compiled, so operations inside of it cannot be told apart")
    with backward.unnoticed(), torch._C.DisableTorchFunction():
        backward.run(loss, None)
    ran = ran_with_calls(backward, recorder)
    for each, call in ran:
        if call is not None:
            each.where = call.node_line
    keys = [(call.module if call else "", each.name) for each, call in ran]
    return WatchedStep(parameters, backward, [each for each, _ in ran], keys, recorder)


def ran_with_calls(
    backward: Backward, recorder: Recorder
) -> list[tuple[BackwardStep, ForwardCall | None]]:
    """The operations that ran, in the order of backward, each with the call that made it.

    >>> with Recorder() as recorder: y = torch.ones(2, requires_grad=True).exp().sum()
    >>> backward = Backward(y.grad_fn)
    >>> backward.run(y, None)
    >>> [(step.kind, call.name) for step, call in ran_with_calls(backward, recorder)]
    [('Sum', 'sum'), ('Exp', 'exp')]
    """
    history = History(recorder)
    ran = sorted(backward.ran(), key=lambda step: step.order)
    return [(step, history.call_of(step.node)) for step in ran]
