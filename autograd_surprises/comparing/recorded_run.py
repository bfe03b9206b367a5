"""The gradients of the first training step of a script, in a form that fits into a small file."""

import platform
from contextlib import ExitStack
from statistics import median

import torch

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.comparing.distance import size
from autograd_surprises.comparing.first_backward import FirstBackward, ModelCall
from autograd_surprises.comparing.measured import Runs
from autograd_surprises.comparing.signs import signed_sums
from autograd_surprises.comparing.watched_step import ran_with_calls
from autograd_surprises.doctor.trained import trained_by
from autograd_surprises.recording.recorder import Recorder
from autograd_surprises.recording.stack import tensors_in
from autograd_surprises.show.findings import first_line

FORMAT = 1


class RecordedRun(FirstBackward):
    """A context that keeps what is to be known of the first training step; then the script ends.

    data  numbers, texts, lists and dicts; {} if there was no such step

    >>> from contextlib import suppress
    >>> with suppress(SystemExit), RecordedRun() as run:
    ...     torch.nn.Linear(2, 1)(torch.ones(3, 2)).sum().backward()
    >>> [each["name"] for each in run.data["operations"]]
    ['SumBackward0', 'AddmmBackward0', 'TBackward0']
    """

    def __enter__(self):
        self.data: dict = {}
        super().__enter__()
        self._recorder = Recorder(eager=False)
        self._recording = self._undo.enter_context(ExitStack())
        self._recording.enter_context(self._recorder)
        return self

    def act(self, roots, weights, call, frame):
        self._recording.close()
        loss = roots[0] if len(roots) == 1 else sum(root.sum() for root in roots)
        backward = _Summed(loss.grad_fn, keep=True)
        model = trained_by(backward.leaves, frame).model
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        shares, why = _rounding(call, roots, weights)
        backward.run(loss, weights)
        self.data = {
            "format": FORMAT,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": str(loss.device),
            "seed": torch.initial_seed(),
            "loss": float(loss.detach().double().sum()),
            "batch": [summed(t, f"batch {i}") for i, t in enumerate(tensors_in(list(call.given)))],
            "unknown": why,
            "parameters": _parameters(backward, names, shares),
            "operations": [_operation(*each) for each in ran_with_calls(backward, self._recorder)],
        }


class _Summed(Backward):
    """Of what arrives at an operation it keeps the sums alone."""

    def _copies(self, gradients):
        return [None if g is None else summed(g, f"arrives {i}") for i, g in enumerate(gradients)]


def summed(tensor: torch.Tensor, name: str) -> dict:
    """The size of a tensor, and its sums with random signs.

    >>> summed(torch.tensor([3.0, 4.0]), "w")["norm"]
    5.0
    """
    shape = [int(length) for length in tensor.shape]
    return {"shape": shape, "norm": size(tensor).norm, "sums": signed_sums(tensor, name)}


def _rounding(call: ModelCall, roots, weights) -> tuple[dict[int, float], str]:
    """By id of a parameter: which share of its gradient rounding errors may be; why not, or ""."""
    module = call.module
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    try:
        gradients = call.gradients(roots, weights)
        runs = Runs(module, parameters, [lambda: call.again(module, gradients)])
    except Exception as error:
        return {}, first_line(error)
    found = runs.differences()
    return {id(parameters[each.name]): each.relative(each.floor) for each in found}, runs.trouble


def _parameters(backward, names, shares):
    """In the order in which backward reaches them."""
    leaves = {id(leaf): leaf for leaf in backward.leaves}
    usual = median(shares.values()) if shares else 0.0
    return [
        {
            "name": names[key],
            "dtype": str(leaves[key].dtype).removeprefix("torch."),
            "start": summed(leaves[key], names[key]),
            "gradient": summed(gradient, names[key]),
            "rounding": shares.get(key, usual),
        }
        for key, gradient in backward.kept.items()
        if key in leaves and key in names
    ]


def _operation(step, call):
    where = call and call.node_line
    return {
        "name": step.name,
        "module": call.module if call else "",
        "line": str(where or ""),
        "arrives": step.gradients_in,
    }
