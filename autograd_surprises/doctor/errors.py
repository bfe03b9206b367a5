"""What autograd's error messages mean, and which lines of the program they are about."""

from __future__ import annotations

import re
from dataclasses import replace

from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.history import lines_of_error
from autograd_surprises.doctor.places import raised_at
from autograd_surprises.doctor.recorder import Recorder

# (pattern of the message, cause, what it means, what helps)
# fmt: off
MESSAGES = (
    (r"does not require grad and does not have a grad_fn", "not-connected",
     "the loss is not connected to any tensor that requires a gradient: none did, or the history "
     "was cut (detach, .data, .item(), torch.tensor(...), no_grad, argmax, ...)",
     "find the cut. Not loss.requires_grad_(): that hides the message, and nothing is trained"),
    (r"Trying to backward through the graph a second time", "second-backward",
     "an earlier backward() freed what this graph had saved: backward() ran twice on one graph, "
     "or a tensor kept from an earlier step (a hidden state, a cache) brings the old graph along",
     "detach what you carry over, compute the rest anew, or add the losses and call backward() "
     "once; retain_graph=True only to walk one graph twice"),
    (r"created only for real scalar outputs", "vector-backward",
     "the loss is complex, and backward() starts from one real number", "loss.abs() or loss.real"),
    (r"grad can be implicitly created only for scalar outputs", "vector-backward",
     "backward() needs a weight for each element; only for a single number it takes 1 by itself",
     "loss.mean() or loss.sum(), or backward(v) with a weight for each element"),
    (r"Mismatch in shape: grad_output\[\d+\]", "wrong-vector-shape",
     "the v of backward(v) holds a weight for each element of the OUTPUT, so it has its shape",
     "v of the shape of the output, for instance torch.ones_like(output)"),
    (r"more than one element of the written-to tensor refers to a single memory",
     "overlapping-memory",
     "something writes in place into an expanded tensor; in a backward, that is the gradient which "
     "arrived, and it is not yours to change",
     "return a new tensor: g * 2, not g.mul_(2); elsewhere, .clone() before you write"),
    (r"has been modified by an inplace operation", "overwritten",
     "backward needs a value of the forward pass, and an in-place operation overwrote it since "
     "(+=, x[...] = ..., relu_, optimizer.step())",
     "write x = x + 1 for x += 1, .clone() before you write, or step after every backward()"),
    (r"leaf Variable that requires grad is being used in an in-place operation", "leaf-in-place",
     "this changes a leaf in place, and autograd would have to record that",
     "an update goes into torch.no_grad(); else compute with a clone"),
    (r"[Oo]nly Tensors of floating point|only floating point.*require gradients|"
     r"can only require gradient", "integer-requires-grad",
     "integers have no slope", "floating-point numbers: torch.tensor([1.0, 2.0]) or .float()"),
    (r"you can only change requires_grad flags of leaf variables", "flag-of-result",
     "the tensor is a result; whether it requires a gradient follows from its inputs",
     ".detach() for a copy without history, or freeze the inputs"),
    (r"appears to not have been used in the graph", "unused-input",
     "the output does not depend on one of the tensors whose gradient was asked for: unused, cut "
     "off, or a copy was used", "find the cut; allow_unused=True if it may be so"),
    (r"One of the differentiated Tensors does not require grad", "not-differentiable-input",
     "torch.autograd.grad was asked for the gradient of a tensor that requires none",
     "x.requires_grad_() before the forward pass"),
    (r"Can't call numpy\(\) on Tensor that requires grad", "numpy-of-tracked",
     "NumPy cannot carry a gradient",
     "torch's own functions in the forward pass; .detach().numpy() for logging and plots only"),
    (r"[Ll]egacy autograd function", "not-static",
     "forward and backward are no static methods, or an object of the Function is called",
     "@staticmethod above both, and MyFunction.apply(x)"),
    (r"forward\(\) missing \d+ required|forward\(\) takes|should not be instantiated",
     "used-like-a-module",
     "forward was called with other arguments than it has; an autograd.Function is no Module: "
     "nobody makes an object of it, and its forward gets ctx first",
     "for a Function, MyFunction.apply(x) with a static forward(ctx, x)"),
    (r"returned an incorrect number of gradients", "gradient-count",
     "backward returns one value for each argument of forward, None for what is no tensor",
     "return grad_x, None, ..."),
    (r"returned an invalid gradient at index|expected shape compatible with", "gradient-shape",
     "backward returned a gradient that has not the shape of the input",
     "the shape of the input: transpose back, and undo broadcasting with g.sum_to_size()"),
    (r"must implement (either )?the backward", "no-backward",
     "the Function has no backward", "write a static backward(ctx, grad_output)"),
    (r"marked with @once_differentiable", "once-differentiable",
     "a Function promised not to be differentiated twice, and now it is",
     "a backward in differentiable operations, without once_differentiable"),
    (r"[Ii]nference tensors cannot be saved|[Ii]nplace update to inference tensor",
     "inference-tensor",
     "a tensor made in torch.inference_mode() takes part in a computation with gradients",
     ".clone() it outside, or use torch.no_grad() where it is made"),
    (r"Expected to have finished reduction in the prior iteration", "ddp-unused",
     "DistributedDataParallel waited for the gradient of a parameter that forward did not use",
     "use every parameter, or find_unused_parameters=True; explain(loss, model) lists them"),
    (r"optimizer got an empty parameter list", "no-parameters",
     "no parameter is registered: they are in a plain list, or they are plain tensors",
     "self.w = nn.Parameter(...), nn.ParameterList, nn.ModuleList"),
    (r"can't optimize a non-leaf Tensor", "optimizer-of-result",
     "the optimizer was given the result of a computation (requires_grad=True, then * 0.1)",
     "compute first, then .detach().requires_grad_()"),
    (r"cannot assign '.*' as parameter", "assigned-parameter",
     "a plain tensor would replace a registered Parameter",
     "a local name in forward: w = self.w * 2; to set values, self.w.copy_() in no_grad"),
    (r"is a view and is being modified inplace|Output \d+ of .* is a view", "view-in-place",
     "one of several views of a tensor (unbind, split, what a Function returned) is changed in "
     "place", "write x = x + 1 for x += 1, or .clone() it first"),
    (r"derivative for .* is not implemented", "no-derivative",
     "this operation has no derivative, or none for this argument",
     "a differentiable relative: / for //, a sigmoid for a step"),
    (r"Checkpointing is not compatible with|incompatible with \.grad\(\)", "reentrant-checkpoint",
     "a reentrant checkpoint hides its inside and allows a plain backward() only, so explain "
     "cannot look into it", "checkpoint(..., use_reentrant=False)"),
    (r"support the deepcopy protocol", "deepcopy-of-result",
     "a tensor with a history, somewhere in what is copied, cannot be copied",
     "keep results out of the module: a local name, or .detach() for what is only looked at"),
    (r"Found dtype \w+ but expected \w+|expected scalar type|must have the same dtype", "dtype",
     "two tensors have different types, often float64 from NumPy and float32 from torch",
     ".float() where the data comes in"),
    (r"can't retain_grad|cannot register a hook on a tensor that doesn't require grad",
     "untracked-tensor",
     "the tensor requires no gradient, so there is none to keep or to hook into",
     "make it require a gradient before the forward pass, or repair the cut before it"),
    (r"returned nan values in its \d+th output", "nan-found",
     "detect_anomaly met the first NaN of backward",
     "explain(loss, ...) without detect_anomaly says which values made it"),
    (r"", "unknown-error", "not an error of autograd that is known here", ""),
)
# fmt: on
TWICE = "backward() runs a second time on one graph, and the first time freed what it had saved"
AGAIN = (
    "something from before the earlier backward() is used again (a hidden state, a cache, a shared "
    "part), and that backward() freed what its graph had saved"
)


def explain_error(error: BaseException, recording: Recorder | None = None) -> Finding:
    """What an error of autograd means, where it was raised, and what helps.

    recording  the trace() of the forward pass: with it, lines are named, too

    Raises TypeError if `error` is no exception.

    >>> try: torch.ones(2).sum().backward()
    ... except RuntimeError as error: print(explain_error(error).cause)
    not-connected
    """
    if not isinstance(error, BaseException):
        raise TypeError(f"explain_error needs an exception, got {type(error).__name__}")
    return finding_of_error(error, recording)


def finding_of_error(error, recording=None, failed=None) -> Finding:
    """The same, with the lines that a recording knows, and the step that failed."""
    message = str(error).strip()
    _, cause, sentence, fix = next(row for row in MESSAGES if re.search(row[0], message))
    places = lines_of_error(recording, cause, message, failed)
    if cause == "second-backward" and recording is not None:
        sentence = AGAIN if len(places) > 1 else TWICE
    raised = raised_at(error.__traceback__)
    if raised is not None and raised not in [where for _, where in places]:
        places.append(("raised at", raised))
    first = (message.splitlines() or [""])[0]
    said = f"{first[:110]}{'…' if len(first) > 110 else ''}"
    found = Finding(
        type(error).__name__, "error", cause, sentence, tuple(places), fix, also=(said,)
    )
    return replace(found, node=f"raised in {failed.name}") if failed is not None else found
