"""Everything that two updates leave, as hashes: is it the same without the doctor?"""

import hashlib
import random

import numpy
import torch

from autograd_surprises.doctor import trace
from cases.case import Step
from cases.claims import seed

PATCHED = (
    (torch.nn.Module, "__call__"),
    (torch.nn.Module, "__setattr__"),
    (torch.nn.Parameter, "__new__"),
    (torch.optim.Optimizer, "__init__"),
    (torch.Tensor, "backward"),
)
ORIGINALS = [getattr(owner, name) for owner, name in PATCHED]


def changed(build) -> list[str]:
    """What is not as it would be if nobody had looked at the first step."""
    plain, watched = (fingerprint(build, look) for look in (False, True))
    return [part for part in plain if plain[part] != watched[part]]


def fingerprint(build, look: bool) -> dict[str, str]:
    """Two updates, the first one with or without the doctor, and everything that they leave."""
    seed()
    step = build()
    held = [p for p in step.model.parameters() if p.requires_grad]
    optimizer = step.optimizer or torch.optim.SGD(held, lr=0.01)
    for turn in range(2):
        optimizer.zero_grad()
        if look and turn == 0:
            with trace() as t:
                loss = step.compute()
            t.explain(loss, step.model, optimizer=step.optimizer)
        else:
            loss = step.compute()
        loss.backward()
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
    flags = [(name, p.requires_grad) for name, p in model.named_parameters()]
    modes = [(name, module.training) for name, module in model.named_modules()]
    hooks = [
        (name, len(module._forward_hooks), len(module._backward_hooks))
        for name, module in model.named_modules()
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
    return torch.is_grad_enabled(), torch.is_anomaly_enabled(), now == ORIGINALS


def _hash(tensors):
    whole = hashlib.sha256()
    for name, tensor in tensors.items():
        dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
        whole.update(name.encode())
        whole.update(dense.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def _hash_of(data):
    return hashlib.sha256(data).hexdigest()
