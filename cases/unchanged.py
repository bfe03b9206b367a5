"""Everything that two updates leave, as hashes: is it the same without the doctor?"""

import hashlib
import random

import numpy
import torch

from autograd_surprises.doctor import explain, trace
from cases.case import Step
from cases.claims import seed

PATCHED = (
    (torch.nn.Module, "__call__"),
    (torch.nn.Module, "__setattr__"),
    (torch.nn.Parameter, "__new__"),
    (torch.optim.Optimizer, "__init__"),
    (torch.Tensor, "backward"),
    (torch, "tensor"),
    (torch, "from_numpy"),
)
ORIGINALS = [getattr(owner, name) for owner, name in PATCHED]


def plainly(step: Step) -> torch.Tensor:
    """The loss of a step, which nobody explains."""
    return step.compute()


def recorded(step: Step) -> torch.Tensor:
    """The loss of a step, explained with a trace."""
    with trace() as t:
        loss = step.compute()
    t.explain(loss, step.model, optimizer=step.optimizer)
    return loss


def alone(step: Step) -> torch.Tensor:
    """The loss of a step, explained without one."""
    loss = step.compute()
    explain(loss, step.model)
    return loss


def changed(build, examined=recorded) -> list[str]:
    """What is not as it would be if nobody had looked at the first step."""
    plain, watched = (fingerprint(build, first) for first in (plainly, examined))
    return [part for part in plain if plain[part] != watched[part]]


def fingerprint(build, first) -> dict[str, str]:
    """Two updates, the first one of the loss first(step), and everything that they leave."""
    seed()
    step = build()
    held = [p for p in step.model.parameters() if p.requires_grad]
    optimizer = step.optimizer or torch.optim.SGD(held, lr=0.01)
    for loss_of in (first, plainly):
        optimizer.zero_grad()
        loss_of(step).backward()
        if isinstance(optimizer, torch.optim.LBFGS):
            optimizer.step(lambda: _again(optimizer, step))
        else:
            optimizer.step()
    return state(step)


def _again(optimizer, step):
    optimizer.zero_grad()
    loss = step.compute()
    loss.backward()
    return loss


def state(step: Step) -> dict[str, str]:
    """Hashes of what a training step may change, and of what it may not."""
    model = step.model
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    flags = [(name, p.requires_grad, p._version) for name, p in model.named_parameters()]
    modes = [(name, module.training) for name, module in model.named_modules()]
    holders = [torch.nn.modules.module, *model.modules(), *model.parameters()]
    hooks = [
        (name, len(found))
        for holder in holders
        for name, found in vars(holder).items()
        if "_hooks" in name and hasattr(found, "__len__")
    ]
    random_state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    return {
        "parameters": _hash(dict(model.named_parameters())),
        "buffers": _hash(dict(model.named_buffers())),
        "gradients": _hash(grads),
        "flags": repr(flags),
        "modes": repr(modes),
        "hooks": repr(hooks),
        "random numbers": _hash_of(repr([str(part) for part in random_state]).encode()),
        "switches": repr(_switches()),
    }


def _switches():
    now = [getattr(owner, name) for owner, name in PATCHED]
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_anomaly_enabled(),
        torch.is_anomaly_check_nan_enabled(),
        torch.overrides._get_current_function_mode_stack(),
        now == ORIGINALS,
    )


def _hash(tensors):
    whole = hashlib.sha256()
    for name, tensor in tensors.items():
        dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
        whole.update(name.encode())
        whole.update(dense.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def _hash_of(data):
    return hashlib.sha256(data).hexdigest()
