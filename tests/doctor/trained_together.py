"""One of two processes that train together and are watched: for test_several_processes.py.

python trained_together.py RANK FOLDER; without arguments, a training script.
"""

import gc
import sys
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from training import network
from two_ranks import hand_in, meet

from autograd_surprises import watch
from autograd_surprises.command.parser import main

STEPS, ROWS = 4, 16


def sharded():
    model = network(4, 8, 1)
    fully_shard(model[0])
    return fully_shard(model)


def sharded_and_kept():
    """After its forward pass, the parameters stay as they are."""
    return fully_shard(network(4, 8, 1), reshard_after_forward=False)


def sharded_in_part():
    model = network(4, 8, 1)
    fully_shard(model[0])
    return model


def flat():
    return FullyShardedDataParallel(network(4, 8, 1), device_id=torch.device("cpu"))


def tensor_parallel(**last):
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel(**last)}
    return parallelize_module(network(4, 8, 1), init_device_mesh("cpu", (2,)), plan)


def spread_loss():
    return tensor_parallel(use_local_output=False)


def summed(gradient):
    gradient = gradient.clone()
    dist.all_reduce(gradient)
    return gradient


class Shared(torch.autograd.Function):
    """The identity; its backward takes the sum of all processes."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return summed(gradient)


class Share(nn.Module):
    def forward(self, x):
        return Shared.apply(x)


def own_function():
    return nn.Sequential(network(4, 8, 1), Share())


def hook():
    model = network(4, 8, 1)
    model[0].weight.register_hook(summed)
    return model


def parallel():
    return DistributedDataParallel(network(4, 8, 1))


def static_parallel():
    return DistributedDataParallel(network(4, 8, 1), static_graph=True)


MODELS = [
    sharded, sharded_and_kept, sharded_in_part, flat, tensor_parallel, spread_loss, own_function,
    hook, parallel, static_parallel,
]  # fmt: skip


def unwatched(model):
    return nullcontext()


def losses_of(make, context=unwatched, bad_step=None):
    """Train a model within context(model): all losses, and the watch, if it is one."""
    torch.manual_seed(0)
    model, x = make(), torch.randn(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    losses = []
    with context(model) as watched:
        for step in range(1, STEPS + 1):
            loss = model(x).square().mean()
            if step == bad_step:
                loss = loss * float("nan")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(
                loss.full_tensor().item() if hasattr(loss, "full_tensor") else loss.item()
            )
    return losses, watched


# ---- Two stages of a pipeline, one in each process


def stages():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)


def received(*shape):
    tensor = torch.empty(*shape)
    dist.recv(tensor, 1 - dist.get_rank())
    return tensor


def send(tensor):
    dist.send(tensor.detach().contiguous(), 1 - dist.get_rank())


class Send(torch.autograd.Function):
    """Hands y to the next stage, and waits there for its gradient."""

    @staticmethod
    def forward(ctx, y):
        ctx.shape = y.shape
        send(y)
        return y.new_zeros(())

    @staticmethod
    def backward(ctx, _):
        return received(*ctx.shape)


class Receive(torch.autograd.Function):
    """Takes y from the stage before, and hands its gradient back."""

    @staticmethod
    def forward(ctx, anchor):
        return received(ROWS, 8)

    @staticmethod
    def backward(ctx, gradient):
        send(gradient)
        return gradient.new_zeros(())


def within_backward(stage, x, factor):
    """Send and receive in Functions of autograd."""
    if dist.get_rank() == 0:
        Send.apply(stage(x)).backward()
        return None
    y = Receive.apply(torch.zeros((), requires_grad=True))
    loss = stage(y).square().mean() * factor
    loss.backward()
    return loss


def by_schedule(stage, x, factor):
    """torch.distributed.pipelining, with two micro-batches."""
    rank, losses = dist.get_rank(), []
    part = PipelineStage(stage, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(
        part, 2, loss_fn=lambda y, target: (y - target).square().mean() * factor
    )
    if rank == 0:
        schedule.step(x)
        return None
    schedule.step(target=torch.zeros(ROWS, 1), losses=losses)
    return sum(losses)


PIPELINES = [within_backward, by_schedule]


def losses_of_stages(train, context, bad_step=None):
    """Train within context(stage): losses and parameters, and the watch, if it is one."""
    stage, x, losses = stages()[dist.get_rank()], torch.randn(ROWS, 4), []
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    with context(stage) as watched:
        for step in range(1, STEPS + 1):
            optimizer.zero_grad()
            loss = train(stage, x, float("nan") if step == bad_step else 1.0)
            optimizer.step()
            losses.append(0.0 if loss is None else loss.item())
    return [*losses, *(p.sum().item() for p in stage.parameters())], watched


# ---- What comes out


def compared(rank):
    """{name: (losses without, losses with watch(), is it healthy?, what it says), or an error}"""
    found = {}
    for make in MODELS:
        for name, bad_step, context in ("", None, watch), (", nan", 3, lambda model: watch()):
            bad = bad_step if rank == 0 else None
            try:
                plain, _ = losses_of(make, bad_step=bad)
            except Exception as error:  # this version of torch cannot do it in either process
                found[make.__name__ + name] = f"{type(error).__name__}: {error}"
                continue
            seen, w = losses_of(make, context, bad)
            found[make.__name__ + name] = plain, seen, w.healthy, str(w)
            del w
            gc.collect()  # modules with FSDP
    return found


def pipelined():
    """The same for two stages, each in its process."""
    found = {}
    for train in PIPELINES:
        for name, bad_step in ("", None), (", nan", 3):
            plain, _ = losses_of_stages(train, unwatched, bad_step)
            seen, w = losses_of_stages(train, watch, bad_step)
            found[train.__name__ + name] = plain, seen, w.healthy, str(w)
    return found


def as_script(rank):
    """The exit code and the output of this file under python -m autograd_surprises."""
    if rank:
        return losses_of(sharded)
    with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as reported:
        code = main([__file__])
    return code, said.getvalue(), reported.getvalue()


if __name__ == "__main__":
    if not sys.argv[1:]:
        print(losses_of(sharded, bad_step=3)[0])
        sys.exit(5)
    rank, folder = int(sys.argv[1]), sys.argv[2]
    meet(rank, folder)
    results = {"compared": pipelined() | compared(rank), "script": as_script(rank)}
    hand_in(results, rank, folder)
