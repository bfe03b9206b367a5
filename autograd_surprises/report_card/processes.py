"""Two processes under DistributedDataParallel, with the gloo backend."""

import pickle
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from autograd_surprises.report_card.example import operator_name
from autograd_surprises.report_card.pair import hand_in, meet, results_of_two
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.vectors import flat, pattern
from autograd_surprises.report_card.verdict import NotApplicable, require_equal
from autograd_surprises.show.findings import first_line

SHARES = (1.0, 0.75)  # what each process multiplies the inputs by: its part of the data
NO_PICKLE = "a new process cannot import {}: pass a function of a module that calls it"
COMMAND = f"from {__name__} import work; work({{rank}}, {{folder!r}})"  # in a new process


class Model(nn.Module):
    """fn of the chosen inputs, which are its parameters."""

    def __init__(self, subject: Subject):
        super().__init__()
        self.subject = subject
        self.weights = nn.ParameterList(subject.tensors())

    def forward(self, share):
        return self.subject.call([weight * share for weight in self.weights])


def two_processes(subject: Subject) -> None:
    """Does each process have the average of both gradients?"""
    if not (dist.is_available() and dist.is_gloo_available()):
        raise NotApplicable("this torch has no gloo")
    given = pickled(subject)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "given").write_bytes(given)
        results = _run(Path(folder))
    model, expected = Model(subject), 0
    for share in SHARES:
        y = model(share)
        grads = torch.autograd.grad(y, list(model.weights), pattern(y), materialize_grads=True)
        expected = expected + flat(grads) / len(SHARES)
    where = subject.at(subject.tensors(), "average gradient {}")
    for result in results:
        require_equal(result, expected, where)


def work(rank: int, folder: str) -> None:
    """What one process does: forward, backward, and its gradients into a file."""
    model = Model(Subject(*pickle.loads(Path(folder, "given").read_bytes())))
    meet(rank, folder)
    parallel = nn.parallel.DistributedDataParallel(model)
    y = parallel(SHARES[rank])
    y.backward(pattern(y))
    hand_in(flat([weight.grad for weight in model.weights]), rank, folder)


def pickled(subject: Subject) -> bytes:
    """fn and its inputs for another process. Raises NotApplicable if that cannot import fn.

    >>> len(pickled(Subject(torch.relu, (torch.ones(2),)))) > 0
    True
    """
    if operator_name(subject.fn):
        raise NotApplicable(NO_PICKLE.format(subject.name))
    reason = f"a new process cannot import {subject.name}: define it in a module (a .py file)"
    owner = getattr(subject.fn, "__self__", None)
    if getattr(owner if isinstance(owner, type) else subject.fn, "__module__", "") == "__main__":
        raise NotApplicable(reason)
    inputs = tuple(i.detach() if isinstance(i, torch.Tensor) else i for i in subject.inputs)
    try:
        return pickle.dumps((subject.fn, inputs, None, subject.chosen))
    except Exception as error:
        raise NotApplicable(f"{reason}; {first_line(error)}") from error


def _run(folder):
    return results_of_two(
        lambda rank: ["-c", COMMAND.format(rank=rank, folder=str(folder))], folder
    )
