"""One run of a step: its loss, and the gradient of each parameter in the order of backward."""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import nn
from torch.autograd.graph import _engine_run_backward

from autograd_surprises.backward.by_backward import gradients_by_backward
from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import reachable
from autograd_surprises.several_processes import why_not_alone

Step = Callable[[], torch.Tensor]


@dataclass(frozen=True)
class StepRun:
    """What one run of a step returned.

    loss       as a number
    gradients  by name of the parameter, those that arrived in their order; None: none arrived
    compiled   is a part of the graph compiled?
    drawn      the states of torch's random generators afterwards
    """

    loss: torch.Tensor
    gradients: dict[str, torch.Tensor | None]
    compiled: bool
    drawn: list[torch.Tensor]


def run_step(
    step: Step, name: str, parameters: Mapping[str, nn.Parameter], replaced: Collection[int] = ()
) -> StepRun:
    """Run a step, and its backward; nothing is written to .grad.

    replaced  ids of tensors for which `parameters` stand in, so that the step must not reach them

    Raises TypeError or ValueError if it does not return a loss that reaches a parameter.

    >>> w = nn.Parameter(torch.ones(2))
    >>> run_step(lambda: (w * 3).sum(), "step_a", {"w": w}).gradients
    {'w': tensor([3., 3.])}
    """
    loss, nodes = loss_of(step, name, parameters)
    drawn = [torch.get_rng_state()]
    if torch.cuda.is_initialized():
        drawn += torch.cuda.get_rng_state_all()
    if any(id(node.leaf) in replaced for node in nodes):
        raise ValueError("a Function gets a parameter that is not taken from its module")
    found: dict[str, torch.Tensor | None] = {}
    with ExitStack() as undo:
        for each, parameter in parameters.items():
            handle = parameter.register_hook(lambda _, each=each: found.setdefault(each))
            undo.callback(handle.remove)
        if any(node.is_reentrant_checkpoint for node in nodes):
            by_id = gradients_by_backward(loss, None)
            gradients = [by_id.get(id(parameter)) for parameter in parameters.values()]
        else:  # not grad(), in which no TorchFunctionMode sees what a checkpoint recomputes
            gradients = _engine_run_backward(
                (loss,), (torch.ones_like(loss),), False, False, tuple(parameters.values()),
                allow_unreachable=True, accumulate_grad=False,
            )  # fmt: skip
    for each, gradient in zip(parameters, gradients, strict=True):
        found[each] = None if gradient is None else gradient.detach().to_dense()
    return StepRun(loss.detach(), found, any(map(is_compiled, nodes)), drawn)


def loss_of(
    step: Step, name: str, parameters: Mapping[str, nn.Parameter]
) -> tuple[torch.Tensor, list[BackwardStep]]:
    """What a step returns, if its gradient can be compared, and the nodes behind it."""
    with torch.inference_mode(False), torch.enable_grad():
        loss = step()
    if not isinstance(loss, torch.Tensor):
        raise TypeError(
            f"{name} has to return the loss, a tensor with one number, and returned "
            f"{'None' if loss is None else type(loss).__name__}"
        )
    if loss.numel() != 1:
        raise ValueError(
            f"{name} has to return a loss of one number, and returned one of shape "
            f"{tuple(loss.shape)}: return its mean() or sum()"
        )
    if loss.grad_fn is None:
        raise ValueError(
            f"the loss of {name} has no grad_fn, so no gradient leaves it: it was computed under "
            "no_grad, detached, or made from tensors that need no gradient"
        )
    nodes = [BackwardStep(node) for node in reachable([loss.grad_fn])]
    harm = why_not_alone(node.node for node in nodes)
    if harm:
        raise ValueError(f"compare would need a backward of its own, but {harm}")
    known = {id(parameter) for parameter in parameters.values()}
    if not any(node.is_reentrant_checkpoint or id(node.leaf) in known for node in nodes):
        raise ValueError(
            f"the loss of {name} reaches no parameter of the model: does it use another model, or "
            "a copy? Both steps have to use the parameters of the model that compare gets"
        )
    return loss, nodes


def is_compiled(step: BackwardStep) -> bool:
    """Is this node the backward of a graph that torch.compile made?

    >>> is_compiled(BackwardStep(torch.ones(1, requires_grad=True).exp().grad_fn))
    False
    """
    return step.kind == "CompiledFunction"
