"""explain() and trace(): check what they are given, watch one backward, and make a report."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, count

import torch
from torch import nn

from autograd_surprises.backward.unchanged import own_backward
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor.errors import finding_of_error
from autograd_surprises.doctor.report import Report
from autograd_surprises.facts.processes import why_not_alone
from autograd_surprises.recording.history import History
from autograd_surprises.recording.modules import named_parameters_in, parameters_in
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.setup_lines import layer_made_at
from autograd_surprises.recording.stack import modules_on_stack, tensors_on_stack
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loss import about_loss
from autograd_surprises.symptoms.terms import constant_terms
from autograd_surprises.symptoms.untrained import not_trained
from autograd_surprises.symptoms.which_symptom import finding_about, without_idle_experts
from autograd_surprises.symptoms.wrong import probably_wrong

# The tensors whose gradients are examined.
Examined = (
    nn.Module
    | torch.optim.Optimizer
    | torch.Tensor
    | Mapping[str, torch.Tensor]
    | Iterable[torch.Tensor | tuple[str, torch.Tensor]]
    | None
)


def explain(
    loss: torch.Tensor,
    wrt: Examined = None,
    *,
    model: nn.Module | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    grad_outputs: torch.Tensor | None = None,
) -> Report:
    """Say for each tensor in `wrt` whether a gradient of `loss` arrives, and if not, why.

    Call it after the forward pass. It walks through the graph once, with torch.autograd.grad, and
    leaves .grad, hooks, buffers, random numbers and the graph as they were. Your hooks and
    Functions run, and checkpoints recompute. What retain_grad() adds is removed again from
    every tensor that can be reached from the variables on the stack, also through lists, dicts,
    closures and attributes. What backward hooks write there is removed, too.

    wrt           a module, an optimizer, a tensor, a list of tensors or {name: tensor}; without
                  it: every leaf that the graph reaches
    model         to find parameters that are not registered, and an optimizer that holds others
    optimizer     to find parameters that it does not hold
    grad_outputs  the weights of a loss that is not a scalar

    Raises TypeError or ValueError for what cannot be examined.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x})["x"].status
    'zero'
    """
    frame = sys._getframe(1)
    return examine(loss, wrt, model, optimizer, grad_outputs, recorder=None, frame=frame)


class trace(Recorder):  # noqa: N801  a context manager, written like no_grad
    """Record a forward pass, so that explain() can name lines.

    It sees each call of torch from Python, in this thread, and keeps lines and numbers, no tensors.
    Inside the block, compiled code runs eagerly. Dropout then draws other numbers than in compiled
    code, so such a step differs from one without trace(). An error of autograd that
    leaves the block gets its cause, lines and fix as a note, and `.error` holds them.

    >>> with trace() as t:
    ...     w = torch.ones(2, requires_grad=True); loss = w.detach().sum()
    >>> t.explain(loss, {"w": w})["w"].cause
    'detach'
    """

    def __init__(self) -> None:
        super().__init__()
        self.error: Finding | None = None

    def __enter__(self) -> trace:
        super().__enter__()
        self.error = None
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        super().__exit__(kind, error, traceback)
        if isinstance(error, Exception):
            self.error = finding_of_error(error, History(self))
            if hasattr(error, "add_note") and self.error.cause != "unknown-error":  # Python 3.11
                error.add_note(f"\n{self.error}")

    def explain(
        self,
        loss: torch.Tensor,
        wrt: Examined = None,
        *,
        model: nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        grad_outputs: torch.Tensor | None = None,
    ) -> Report:
        """explain(), with the lines of this recording."""
        return examine(loss, wrt, model, optimizer, grad_outputs, self, sys._getframe(1))


def examine(loss, wrt, model, optimizer, grad_outputs, recorder, frame) -> Report:
    """explain(), with a recording of the forward pass if there is one, or only with its history."""
    hint = LOSS_FIRST if isinstance(loss, nn.Module) else HINTS.get(type(loss), "")
    _expect(loss, torch.Tensor, "the loss", "a tensor", hint)
    expect_model_and_optimizer(model, optimizer)
    model = wrt if model is None and isinstance(wrt, nn.Module) else model
    _refuse_what_has_no_numbers(loss)
    names, held = tensors_on_stack(frame, recorder)
    if model is not None:
        names.update((id(p), name) for name, p in named_parameters_in(model))
    targets = _targets(wrt, names)
    names.update((id(tensor), name) for name, tensor in targets.items())
    weights = _weights(loss, grad_outputs)
    history = recorder if isinstance(recorder, History) else History(recorder)
    backward = Backward(loss.grad_fn) if loss.grad_fn is not None else None
    harm = why_not_again(backward, history.recorder)
    if harm:
        raise ValueError(f"explain would need a backward of its own, but {harm}")
    asked = wrt is not None and not isinstance(wrt, (nn.Module, torch.optim.Optimizer))
    if optimizer is None and isinstance(wrt, torch.optim.Optimizer):
        optimizer = wrt
    named = [(names[id(tensor)], tensor) for tensor in held]
    recorded = isinstance(recorder, Recorder)
    exam = Examination(loss, backward, history, recorded, names, model, named, optimizer, asked)
    touched = [*modules_on_stack(frame), *([model] if model is not None else [])]
    with own_backward(loss, touched, held):
        failed = walk(exam, weights, targets, held)
        findings = about_loss(exam, targets, grad_outputs)
        if wrt is None:
            targets = leaves(exam)
        if failed is not None:
            findings.append(failed)
        else:
            each = [finding_about(exam, name, tensor) for name, tensor in targets.items()]
            findings += without_idle_experts(each, targets)
            findings += probably_wrong(exam) + constant_terms(exam)
        findings += not_trained(exam, targets)
    findings = [_with_its_layer(found, history) for found in findings]
    if backward is not None:
        backward.forget()
    return Report(description(loss), tuple(findings), exam.backward, history, names)


PACKED = "hooks on saved tensors run, which may allow a single backward"


def why_not_again(backward: Backward | None, recorder: Recorder) -> str:
    """Why a backward of the doctor's own would do harm; "" if nothing is known."""
    if backward is None:
        return ""
    return PACKED if recorder.packed else why_not_alone(backward.steps)


def _with_its_layer(found, history):
    """The same; if it blames a layer of an nn.Sequential, the line that made this comes first."""
    if not found.alarming or found.where is None or not found.where.is_numbered:
        return found
    layer = history.recorder.module_of(found.where)
    if layer is None or parameters_in(layer):
        return found
    made = ("the layer was made at", layer_made_at(layer))
    return found.about(found.name, found.status, (made, *found.places), found.node, found.also)


HINTS = {
    float: ": a number has no history, so leave out the .item() or float()",
    list: ": add several losses with sum(losses)",
    tuple: ": add several losses with sum(losses)",
}
TOO_LATE = "or loss.backward() ran before explain(): call explain() first"
LOSS_FIRST = ": the loss comes first, explain(loss, model)"


def expect_model_and_optimizer(model: object, optimizer: object, hint: str = "") -> None:
    """Raise TypeError if one of them is something else, and not None."""
    kinds = nn.Module, torch.optim.Optimizer
    _expect(model, (kinds[0], type(None)), "model", "an nn.Module", hint)
    _expect(optimizer, (kinds[1], type(None)), "optimizer", "a torch.optim.Optimizer", hint)


def _expect(value, kinds, name, what, hint=""):
    if not isinstance(value, kinds):
        raise TypeError(f"{name} has to be {what}, got {_kind(value)}{hint}")


def _kind(value):
    return "None" if value is None else type(value).__name__


def _refuse_what_has_no_numbers(loss):
    if loss.is_meta:
        raise ValueError("the loss is on the meta device, so it has no numbers to look at")
    if torch._C._functorch.is_functorch_wrapped_tensor(loss):
        raise ValueError(
            "explain cannot look inside torch.func (grad, vmap, ...): call it on what they return"
        )


def _targets(wrt, names):
    if wrt is None:
        return {}
    if isinstance(wrt, nn.Module):
        pairs = list(named_parameters_in(wrt))
    elif isinstance(wrt, torch.optim.Optimizer):
        pairs = [
            (names.get(id(p), f"param_groups[{g}][{i}]"), p)
            for g, group in enumerate(wrt.param_groups)
            for i, p in enumerate(group["params"])
        ]
    elif isinstance(wrt, torch.Tensor):
        pairs = [(names.get(id(wrt), "tensor"), wrt)]
    elif isinstance(wrt, dict):
        pairs = list(wrt.items())
    elif isinstance(wrt, Iterable) and not isinstance(wrt, (str, type)):
        parts = [part if _is_named(part) else (None, part) for part in wrt]
        pairs = [(name or names.get(id(t), i), t) for i, (name, t) in enumerate(parts)]
    else:
        _expect(wrt, torch.Tensor, "wrt", "a module, an optimizer, a tensor or several tensors")
    for name, part in pairs:
        _expect(part, torch.Tensor, f"wrt[{name!r}]", "a tensor")
        if torch.nn.parameter.is_lazy(part):
            raise ValueError(f"{name} is not initialised yet: run the model once before explain")
    if not pairs:
        raise ValueError(
            f"wrt is a {_kind(wrt)} that holds no tensor, so there is nothing to explain. "
            "named_parameters() shows which parameters a module has registered"
        )
    return _named_apart((n if isinstance(n, str) else f"wrt[{n}]", t) for n, t in pairs)


def _named_apart(pairs):
    """{name: tensor}; a second tensor with the same name is called "name (2)"."""
    named = {}
    for name, tensor in pairs:
        tries = chain([name], (f"{name} ({k})" for k in count(2)))
        named[next(n for n in tries if named.get(n, tensor) is tensor)] = tensor
    return named


def _is_named(part):
    """A pair, as named_parameters() yields them."""
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)


def _weights(loss, grad_outputs):
    if grad_outputs is None:
        return None if loss.numel() == 1 else torch.ones_like(loss)
    _expect(grad_outputs, torch.Tensor, "grad_outputs", "a tensor")
    if grad_outputs.shape != loss.shape:
        raise ValueError(
            f"grad_outputs has a weight for each element of the loss, so its shape "
            f"{tuple(loss.shape)}, but got {tuple(grad_outputs.shape)}"
        )
    return grad_outputs


def walk(exam: Examination, weights, targets: dict, held: Iterable[torch.Tensor]) -> Finding | None:
    """Run the backward; what retain_grad() adds to .grad is removed. A Finding if it raises."""
    if exam.backward is None:
        return None
    known = [*targets.values(), *held, *exam.history.recorder.alive()]
    tensors = {id(t): t for t in known}.values()
    exam.backward.retained = [t for t in tensors if t.retains_grad]
    recorded = bool(exam.history.recorder.hooks)
    exam.backward.hooked = recorded or any(t._backward_hooks for t in tensors)
    results = [t for t in targets.values() if t.grad_fn in exam.backward.steps]
    try:
        with exam.backward.unnoticed():
            exam.backward.run(exam.loss, weights, results)
    except Exception as error:
        exam.history.failed = exam.history.recorder.states(exam.loss)[-1:]
        found = finding_of_error(error.with_traceback(None), exam.history, exam.backward.failed)
        if found.cause == "compiled-for-one-backward":  # the user's own backward works
            return replace(found, name="gradients", status="not examined", also=())
        if found.cause == "second-backward":
            return replace(found, also=(*found.also, TOO_LATE))
        return found
    return None


def leaves(exam: Examination) -> dict[str, torch.Tensor]:
    """Every leaf of the graph; without a graph, every leaf that was recorded."""
    if exam.backward is not None:
        found = exam.backward.leaves
    else:
        seen = exam.history.recorder.alive()
        found = [t for t in seen if t.is_leaf and t.requires_grad and t is not exam.loss]
    return _named_apart((exam.name(tensor, i), tensor) for i, tensor in enumerate(found))


def description(loss: torch.Tensor | None) -> str:
    """A description of the loss, if it was seen."""
    if loss is None:
        return "not seen"
    value = f"{loss.item():.4g}" if loss.numel() == 1 else f"of shape {tuple(loss.shape)}"
    return value + (f", made by {loss.grad_fn.name()}" if loss.grad_fn is not None else "")
