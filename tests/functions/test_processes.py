"""Two processes train together through each operator: DistributedDataParallel over gloo."""

import warnings

import pytest
import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing
from torch import nn

from tests.functions.operators import OPERATORS


class Model(nn.Module):
    """A linear layer before each operator and one after all."""

    def __init__(self, names):
        super().__init__()
        torch.manual_seed(0)
        self.before = nn.ModuleList(nn.Linear(4, 3) for _ in names)
        self.after = nn.Linear(3 * len(names), 1)
        self.functions = [OPERATORS[name].function for name in names]

    def forward(self, x):
        hidden = [f(layer(x)) for f, layer in zip(self.functions, self.before, strict=True)]
        return self.after(torch.cat(hidden, 1))


def batches():
    return torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(1))


def gradients_of(model, x):
    model(x).square().sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def one_process(rank, meeting_point, answers):
    warnings.simplefilter("ignore")  # about the name of this machine
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=2
    )
    model = nn.parallel.DistributedDataParallel(Model(list(OPERATORS)))
    answers.put((rank, [gradient.numpy() for gradient in gradients_of(model, batches()[rank])]))
    distributed.barrier()
    distributed.destroy_process_group()


def two_processes(meeting_point):
    """What each of the two processes found in .grad."""
    # Not forks: a fork can wait forever for a lock that another thread held.
    answers = multiprocessing.get_context("spawn").Queue()
    started = multiprocessing.start_processes(
        one_process, (str(meeting_point), answers), nprocs=2, join=False, start_method="spawn"
    )
    found = dict(answers.get(timeout=1200) for _ in range(2))
    for process in started.processes:  # torch may deadlock while it destroys a process group
        process.kill()
    return found


@pytest.mark.slow
def test_both_have_the_mean_of_the_gradients(tmp_path):
    """One test for all operators: tests on two workers would start the processes twice."""
    both = two_processes(tmp_path / "meet")
    alone = [gradients_of(Model(list(OPERATORS)), x) for x in batches()]
    names = [f"{kind} before {name}" for name in OPERATORS for kind in ("weight", "bias")]
    names += ["weight at the end", "bias at the end"]
    for i, (name, one, other) in enumerate(zip(names, *alone, strict=True)):
        want = (one + other) / 2
        for rank in range(2):
            got = torch.from_numpy(both[rank][i])
            torch.testing.assert_close(got, want, msg=lambda said, name=name: f"{name}: {said}")
        if name.startswith("weight before"):
            assert want.any(), name
