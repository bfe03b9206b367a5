"""Facts behind sentences that were once false or too wide, in torch's own words."""

import pytest
import torch
from torch import nn
from torch.library import custom_op
from torch.utils.checkpoint import checkpoint


def test_ddp_does_not_divide_the_batch():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    class Counting(nn.Linear):
        def forward(self, x):
            self.rows = len(x)
            return super().forward(x)

    if torch.distributed.is_initialized():  # by another test in this process
        torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        model = nn.parallel.DistributedDataParallel(Counting(1, 1))
        model(torch.ones(6, 1))
    finally:
        torch.distributed.destroy_process_group()
    assert model.module.rows == 6


def test_an_operator_overwrites_a_leaf_without_an_error():
    def halve(x: torch.Tensor) -> None:
        x.mul_(0.5)

    operator, leaf = (
        custom_op("claims::halve", halve, mutates_args={"x"}),
        torch.ones(2, requires_grad=True),
    )
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        halve(leaf)
    operator(leaf)
    assert leaf.tolist() == [0.5, 0.5] and leaf.is_leaf


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("spread", [torch.std, torch.var])
def test_the_spread_of_equal_numbers(spread):
    def gradient(n, correction=1):
        numbers = torch.ones(n, requires_grad=True)
        return torch.autograd.grad(spread(numbers, correction=correction), numbers)[0]

    assert not gradient(3).any() and not gradient(1, correction=0).any()
    assert gradient(1).isnan().all()


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_the_older_checkpoint_does_not_look_for_tensors_inside_its_inputs():
    x = torch.ones(2, requires_grad=True)
    assert checkpoint(torch.exp, x, use_reentrant=True).requires_grad
    y = checkpoint(lambda given: given["x"].exp(), {"x": x}, use_reentrant=True)
    assert not y.requires_grad


@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_a_full_hook_leaves_out_what_is_passed_by_keyword():
    class Tripled(nn.Module):
        def forward(self, x):
            return 3 * x

    module, seen = Tripled(), []
    module.register_full_backward_hook(lambda module, grad_input, _: seen.append(grad_input))
    x = torch.tensor(1.0, requires_grad=True)
    module(x).backward()
    module(x=x).backward()
    assert seen == [(3,), ()]
