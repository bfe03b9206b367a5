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


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of the two processes found in .grad."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    meeting_point = tmp_path_factory.mktemp("processes") / "meet"
    started = multiprocessing.spawn(
        one_process, (str(meeting_point), answers), nprocs=2, join=False
    )
    found = dict(answers.get(timeout=120) for _ in range(2))
    while not started.join(timeout=120):
        pass
    return found


@pytest.mark.parametrize("i", range(2 * len(OPERATORS) + 2))
def test_both_have_the_mean_of_the_gradients(both, i):
    alone = [gradients_of(Model(list(OPERATORS)), x)[i] for x in batches()]
    want = (alone[0] + alone[1]) / 2
    for rank in range(2):
        torch.testing.assert_close(torch.from_numpy(both[rank][i]), want)
    if i < 2 * len(OPERATORS) and i % 2 == 0:
        assert want.any()
