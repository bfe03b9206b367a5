"""What another torch version changes in a training step: at which lines, elements and leaves."""

import sys
from dataclasses import replace
from types import FrameType

import torch

from autograd_surprises.atlas.changed_elements import (
    changed_elements,
    gradients_of,
)
from autograd_surprises.atlas.changed_points import (
    changed_derivatives,
    changed_points,
    measured_nodes,
)
from autograd_surprises.atlas.installed import installed_version
from autograd_surprises.atlas.record import stored, versions
from autograd_surprises.atlas.upgrade_text import ChangedLine, UpgradeReport
from autograd_surprises.backward.steps import numbers_of
from autograd_surprises.backward.unchanged import own_backward
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor.trained import trained_by
from autograd_surprises.operations import traits_of
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.stack import modules_on_stack, tensors_on_stack
from autograd_surprises.several_processes import why_not_alone
from autograd_surprises.show.findings import grouped


def upgrade_report(
    loss: torch.Tensor,
    recording: Recorder,
    old: str | None = None,
    new: str | None = None,
    *,
    grad_outputs: torch.Tensor | None = None,
) -> UpgradeReport:
    """Which lines of a recorded forward pass get other gradients from another torch version.

    It looks up the nodes of the loss's graph in the measured gradients of both versions, counts the
    elements that lie exactly where these differ, and runs the backward with either gradient there.
    That leaves .grad, hooks, buffers, random numbers and the graph as they were.

    recording     a trace() of the forward pass
    old, new      such as "2.13"; by default the installed version and the newest one measured
    grad_outputs  the weights of a loss that is not a scalar

    Raises ValueError for a version that was not measured, and for what cannot be examined.

    >>> x = torch.tensor([-2.0, 0.5, 1.0], requires_grad=True)
    >>> with trace() as t:
    ...     loss = x.clamp(-1, 1).sum()
    >>> (line,) = upgrade_report(loss, t, "2.13", "2.15").lines
    >>> line.places, line.before, line.after, line.elements, line.total
    (('min', 'max'), 1.0, 0.0, 1, 3)
    """
    if grad_outputs is None and loss.numel() > 1:
        grad_outputs = torch.ones_like(loss)
    return examine_step(loss, recording, compared(old, new), grad_outputs, sys._getframe(1))


def compared(old: str | None = None, new: str | None = None) -> tuple[str, str]:
    """The two versions: by default, the installed and the newest one.

    Raises ValueError if they are the same, or one was not measured.

    >>> compared("2.13", "2.15")
    ('2.13', '2.15')
    """
    known, installed = versions(), installed_version()
    if old is None and installed not in known:
        raise ValueError(
            f"the installed torch {installed} was not measured; these were: {', '.join(known)}. "
            "Say from which one to compare"
        )
    pair = old or installed, new or known[-1]
    for version in pair:
        stored(version)
    if pair[0] == pair[1]:
        newest = ", the newest one that was measured" * (pair[0] == known[-1])
        raise ValueError(f"there is nothing to compare: both versions are torch {pair[0]}{newest}")
    return pair


def examine_step(
    loss: torch.Tensor,
    recorder: Recorder | History,
    pair: tuple[str, str],
    weights: torch.Tensor | None,
    frame: FrameType,
) -> UpgradeReport:
    """upgrade_report() for a caller with this frame."""
    if loss.grad_fn is None:
        raise ValueError("the loss has no graph, so it has no gradients")
    history = recorder if isinstance(recorder, History) else History(recorder)
    backward = Backward(loss.grad_fn)
    harm = why_not_alone(backward.steps)
    if harm:
        raise ValueError(f"this would need a backward of its own, but {harm}")
    both = stored(pair[0]), stored(pair[1])
    names, held = tensors_on_stack(frame)
    modules = modules_on_stack(frame)
    model = trained_by(backward.leaves, frame).model
    if model is not None:
        modules.append(model)
        names.update((id(p), name) for name, p in model.named_parameters())
    backward.retained = [t for t in [*held, *history.recorder.alive()] if t.retains_grad]
    with own_backward(loss, modules, held):
        known = measured_nodes(*both)
        derivatives = tuple(_derivatives(history, changed_derivatives(*both), pair))
        changed, doubts = _changed(backward, changed_points(*both), pair)
        doubts += _unseen(backward, history, changed)
        leaves = None
        if not (doubts or derivatives):
            leaves = _leaves(backward, loss, weights, changed, pair, names)
    lines = [_line(each, history) for each in reversed(changed)]  # as in the forward pass
    operations = [step for step in backward.steps.values() if step.leaf is None]
    unknown = _names(step for step in operations if step.name not in known)
    measured = _names(step for step in operations if step.name in known) - unknown
    backward.forget()
    return UpgradeReport(
        *pair,
        tuple(map(_summed, grouped(lines, lambda line: replace(line, elements=0, total=0)))),
        derivatives,
        leaves,
        tuple(dict.fromkeys(doubts)),
        tuple(sorted(measured)),
        tuple(sorted(unknown)),
    )


def _changed(backward, points, pair):
    """The elements of all steps that are at changed points, and what is not known of these."""
    installed = installed_version()
    changed, doubts = [], []
    for step in backward.steps.values():
        mine = points.get(step.name, ())
        found = changed_elements(step, mine)
        there = [each for each in found if each.count]
        for each in there:
            if installed in pair and not each.is_confirmed(pair.index(installed)):
                found.remove(each)
                doubts.append(
                    f"{step.operation} where {each.name} equals {' or '.join(each.places)}: the "
                    f"atlas has another gradient for torch {installed} than this machine"
                )
            if each.doubtful:
                doubts.append(
                    f"what becomes of {each.doubtful:,} elements of {step.operation} that are "
                    f"{' and '.join(each.places)} at once, which was not measured"
                )
        known = {point.input for point in mine}
        others = [
            k for k, (node, _) in enumerate(step.edges) if node is not None and k not in known
        ]
        if there and others:
            doubts.append(f"the gradient of input {others[0] + 1} of {step.operation} there")
        changed += found
    return changed, doubts


def _unseen(backward, history, changed):
    """What keeps a step from being examined as a whole."""
    kinds = {step.kind for step in backward.steps.values()}
    if "CompiledFunction" in kinds:
        yield "what compiled code does: run the step without torch.compile"
    if any(step.is_reentrant_checkpoint for step in backward.steps.values()):
        yield "what a checkpoint with use_reentrant=True hides"
    if any(call.name == "grad" for call in history.calls) and any(each.count for each in changed):
        yield "how much changes: the loss contains gradients, which change as well"


def _leaves(backward, loss, weights, changed, pair, names):
    """{name: share} of each leaf whose gradient is another one with the new version."""
    there = [each for each in changed if each.count]
    if not there:
        return {}
    installed = installed_version()
    leaves = [leaf for leaf in backward.leaves if leaf.requires_grad]
    old, new = (
        gradients_of(backward, loss, weights, leaves, there if v != installed else (), i)
        for i, v in enumerate(pair)
    )
    found = {}
    for i, (leaf, before, after) in enumerate(zip(leaves, old, new, strict=True)):
        if before is None:
            continue
        a, b = numbers_of(before), numbers_of(after)
        if not ((a == b) | (a.isnan() & b.isnan())).all():
            share = (b - a).double().norm() / a.double().norm()
            found[names.get(id(leaf), f"leaf {i + 1}")] = share.item()
    return found


def _derivatives(history, changed, pair):
    """(line, what) of each call that has a derivative in one version alone."""
    for call in history.calls:
        if call.name in changed and (call.lost or call.makes_history):
            has = pair[changed[call.name].index("")]
            yield call.node_line, f"only torch {has} has a derivative of {call.name}"


def _line(each, history):
    call = history.call_of(each.step.node)
    return ChangedLine(
        call.node_line if call else None,
        each.step.operation,
        each.name,
        each.places,
        *each.gradients,
        each.count,
        each.here.numel(),
    )


def _summed(lines):
    """Calls of the same operation in one line of code, as in a loop."""
    elements, total = sum(e.elements for e in lines), sum(e.total for e in lines)
    return replace(lines[0], elements=elements, total=total)


def _names(steps):
    """Of those that do more than arrange elements; a Function written in Python has its own."""
    shown = [step for step in steps if not traits_of(step.kind).arranges]
    return {step.operation if step.own is None else step.own_name for step in shown}
