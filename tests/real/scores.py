"""One step with and without the doctor: what it says, what of that is untrue, what changed."""

import hashlib
import random
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import torch

from autograd_surprises.doctor import trace
from real.judging import noting_blame, seed, untrue
from real.step import Bug, Healthy, Step

SCREEN = 40  # lines that fit on one
PATCHED = (
    (torch.nn.Module, "__call__"),
    (torch.nn.Module, "__setattr__"),
    (torch.nn.Parameter, "__new__"),
    (torch.optim.Optimizer, "__init__"),
    (torch.Tensor, "backward"),
)
ORIGINALS = [getattr(owner, name) for owner, name in PATCHED]


@dataclass
class Score:
    """What came out of one step. A failure of the doctor itself is `crashed`.

    alarms   (status, cause) that the step should not get
    untrue   claims that plain torch refutes
    changed  what is not as it would be without the doctor
    found    did one finding name the line and the cause? (of bugs)
    line, cause, second  the parts of that, and findings that blame something else
    """

    name: str
    kind: str
    library: str
    lines: int = 0
    alarms: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    found: bool = False
    line: bool = False
    cause: bool = False
    second: list[str] = field(default_factory=list)
    crashed: str = ""
    text: str = ""


def seeded(build) -> Step:
    seed()
    return build()


def score(case: Healthy | Bug) -> Score:
    """Run one step."""
    kind = "healthy" if isinstance(case, Healthy) else "bug"
    result = Score(case.name, kind, case.library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            (score_healthy if kind == "healthy" else score_bug)(case, result)
        except Exception as error:
            result.crashed = f"{type(error).__name__}: {error}"[:500]
    return result


def score_healthy(case: Healthy, result: Score) -> None:
    step = seeded(case.build)
    seed()  # the judge runs the same step again
    with noting_blame() as blamed, trace() as t:
        loss = step.compute()
        report = t.explain(loss, step.model, optimizer=step.optimizer)
    alarms = {(f.status, f.cause) for f in report.findings if f.alarming} - case.true
    result.alarms = sorted(f"{status} {cause}" for status, cause in alarms)
    result.text = str(report)
    result.lines = len(result.text.splitlines())
    result.untrue = untrue(report, loss, step, blamed)
    del step, loss, report, t
    plain, watched = (fingerprint(case.build, look) for look in (False, True))
    result.changed = [part for part in plain if plain[part] != watched[part]]


def score_bug(case: Bug, result: Score) -> None:
    findings = findings_of(case, result)
    alarms = [f for f in findings if f.alarming]

    def named(found, most=1):
        places = [where for _, where in found.places[:most]]
        return any(
            str(Path(p.file).resolve()) == case.file and p.line in case.guilty for p in places
        )

    right = [f for f in alarms if f.cause in case.causes]
    result.cause = bool(right)
    result.line = any(named(f) for f in alarms)
    result.found = any(named(f) for f in right)
    known = {*case.causes, *case.also}
    others = [f for f in alarms if f.cause not in known and not named(f, most=9)]
    result.second = sorted({f"{f.status} {f.cause}" for f in others})


def findings_of(case, result):
    t = trace()
    try:
        with t:
            step = seeded(case.build)
            loss = step.compute()
    except Exception as error:
        result.text = f"{type(error).__name__}: {error}\n{t.error}"
        return [t.error] if t.error is not None else []
    report = t.explain(loss, step.model, optimizer=step.optimizer)
    result.text = str(report)
    return report.findings


def fingerprint(build, look: bool) -> dict[str, str]:
    """Two updates, the first one with or without the doctor, and everything that they leave."""
    step = seeded(build)
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
