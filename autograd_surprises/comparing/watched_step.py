"""A step whose forward pass is recorded, and each gradient of whose backward is kept."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.comparing.one_step import Step, is_compiled, loss_of
from autograd_surprises.recording.forward_values import numbers_in
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import Recorder, sequence_number


@dataclass(frozen=True)
class WatchedStep:
    """One step, watched.

    loss      with its graph
    recorder  of its forward pass
    history   which call made which node
    backward  with the gradients that arrived at each operation, and left it
    ran       its operations, in the order of backward
    keys      (path of the module, name of the operation) of each of these
    inputs    of each relu, whose node does not keep it, by the number of the node
    """

    loss: torch.Tensor
    recorder: Recorder
    history: History
    backward: Backward
    ran: list[BackwardStep]
    keys: list[tuple[str, str]]
    inputs: dict[int, torch.Tensor]


def watch_step(step: Step, parameters: Mapping[str, nn.Parameter], name: str) -> WatchedStep | None:
    """Run a step and watch its backward; None if a part of it is compiled, or it cannot run twice.

    >>> w = nn.Parameter(torch.ones(2))
    >>> [step.name for step in watch_step(lambda: (w * 3).sum(), {"w": w}, "step_a").ran]
    ['SumBackward0', 'MulBackward0']
    """
    recorder = Recorder(eager="torch._dynamo" not in sys.modules)
    inputs = _ReluInputs()
    with inputs, recorder:
        loss = loss_of(step, parameters, name)
    history, backward = History(recorder), Backward(loss.grad_fn, keep=True)
    if recorder.ended or any(map(is_compiled, backward.steps.values())):
        return None
    with suppress(RuntimeError), backward.unnoticed(), torch._C.DisableTorchFunction():
        backward.run(loss, None)
        ran = sorted(backward.ran(), key=lambda step: step.order)
        calls = [history.call_of(step.node) for step in ran]
        for each, call in zip(ran, calls, strict=True):
            if call is not None:
                each.where = call.node_line
                each.called = "" if call.function else call.operation
        keys = [
            (call.module if call else "", step.name) for step, call in zip(ran, calls, strict=True)
        ]
        return WatchedStep(loss, recorder, history, backward, ran, keys, inputs.kept)
    return None


class _ReluInputs(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.kept: dict[int, torch.Tensor] = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__ in ("relu", "relu_") and args:
            self.kept[sequence_number()] = numbers_in(args[0])
        return func(*args, **(kwargs or {}))
