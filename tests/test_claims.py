"""Facts behind sentences that were once false or too wide, in torch's own words."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable

from helpers.functions import clamp, round_ste
from lessons import digits
from lessons.digits import IMAGES, LABELS
from lessons.digits.networks import WAYS
from lessons.plain_function import PlainRoundSTE

USES_JIT = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
TWICE = replace(WAYS["learned step"], scale_factor=2.2)


# ---- notebooks 01, 03, 13: leaves and kinks


def test_what_is_not_recorded_is_a_leaf():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        unrecorded = 3 * x
    assert all(each.is_leaf for each in (unrecorded, (3 * x).detach(), x > 0))
    assert not (3 * x).is_leaf


def test_hardtanh_bends_downwards_at_its_upper_bound():
    """So no line through that point lies below it: there is no subgradient."""
    middle, ends = F.hardtanh(torch.tensor([1.0])), F.hardtanh(torch.tensor([0.5, 1.5])).mean()
    assert middle > ends


# ---- notebook 07, when the scale is wrong


def test_a_scale_that_rounds_every_weight_to_0_has_a_gradient():
    weights, scale = torch.linspace(-1, 1, 21), torch.tensor(2.1, requires_grad=True)
    levels = clamp(round_ste(weights / scale), -2, 1, bound_gradient=1)
    (gradient,) = torch.autograd.grad((levels * scale - weights).square().mean(), scale)
    assert not levels.any()
    torch.testing.assert_close(gradient, (2 * weights * weights / 2.1).mean())


def test_only_the_last_bias_learns_at_twice_the_scale():
    model = digits.network(TWICE, torch.Generator().manual_seed(0))
    assert not model[:2](IMAGES).any()
    F.cross_entropy(model(IMAGES), LABELS).backward()
    assert [name for name, p in model.named_parameters() if p.grad.any()] == ["4.bias"]


# ---- notebook 09


def test_a_dead_unit_comes_back_if_the_layer_before_it_moves():
    first, second = torch.tensor(0.5, requires_grad=True), torch.ones(2, requires_grad=True)
    bias = torch.tensor([0.0, -1.0])

    def hidden():
        return torch.relu(first * second + bias)

    assert hidden()[1] == 0
    optimizer = torch.optim.SGD([first, second], lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        (hidden().sum() - 5).square().backward()
        optimizer.step()
    assert hidden()[1] > 0


# ---- notebooks 14 and 15


def compiled_pieces(function, x):
    """The operations in each graph that the compiler gets without fullgraph=True."""
    pieces = []

    def backend(graph, _):
        pieces.append([node.target for node in graph.graph.nodes if node.op.startswith("call")])
        return graph.forward

    torch.compiler.reset()
    torch.compile(function, backend=backend)(x)
    return pieces


class RoundWithJvp(PlainRoundSTE):
    jvp = PlainRoundSTE.backward


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_the_forward_of_a_function_with_a_jvp_is_compiled_by_itself():
    x = torch.tensor(0.4, requires_grad=True)
    pieces = compiled_pieces(lambda x: RoundWithJvp.apply(x.sin()).cos(), x)
    assert pieces == [["sin"], ["round"], ["cos"]]


@pytest.mark.parametrize("function", [torch.nonzero, torch.unique, nn.LSTM(2, 2)])
def test_vmap_does_not_know_each_operation_of_torch(function):
    with pytest.raises(RuntimeError, match="(?i)batching"):
        torch.func.vmap(function)(torch.ones(3, 4, 2))


@pytest.mark.parametrize("declared", [True, False])
def test_a_generated_vmap_rule_cannot_declare_a_write(declared):
    class Doubled(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            if declared:
                ctx.mark_dirty(*inputs)

    rows = torch.ones(3, 2)
    if declared:
        with pytest.raises(RuntimeError, match="marked as dirty"):
            torch.func.vmap(Doubled.apply)(rows)
    else:
        torch.func.vmap(Doubled.apply)(rows)
        assert bool((rows == 2).all())


@USES_JIT
def test_the_level_of_forward_mode_counts_no_nested_derivatives():
    levels, one = [], torch.tensor(1.0)

    def inner(x):
        levels.append(forward_ad._current_level)
        return x

    torch.func.jvp(lambda x: torch.func.jvp(inner, (x,), (one,))[1], (one,), (one,))
    assert levels == [0] and forward_ad._current_level == -1


def test_a_layer_in_half_precision_refuses_float32():
    with pytest.raises(RuntimeError, match="same dtype"):
        nn.Linear(2, 2).half()(torch.ones(2))


def test_backward_runs_inside_autocast_if_it_is_called_there():
    seen = []

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(torch.is_autocast_enabled("cpu"))
            return gradient

    x = torch.tensor(1.0, requires_grad=True)
    with torch.autocast("cpu"):
        y = Same.apply(x)
        y.backward(retain_graph=True)
    y.backward()
    assert seen == [True, False]


class SquareOnce(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


def test_once_differentiable_is_silent_only_beside_another_path():
    x = torch.tensor(3.0, requires_grad=True)
    (slope,) = torch.autograd.grad(SquareOnce.apply(x), x, create_graph=True)
    assert torch.autograd.grad(x * slope, x)[0] == 6  # instead of 12
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope.backward()


def test_numpy_without_detach_does_not_pass_unseen_in_a_second_derivative():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, gradient):
            return torch.from_numpy(2 * ctx.saved_tensors[0].numpy() * gradient.numpy())

    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.grad(Square.apply(x), x)[0] == 2
    with pytest.raises(RuntimeError, match="numpy"):
        torch.autograd.grad(Square.apply(x), x, create_graph=True)


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
