"""Two stages of a pipeline, one in each of two processes: for trained_together.py."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

STEPS, ROWS = 4, 16


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


def by_hand(stage, x, factor):
    """Send and receive outside of autograd; returns the loss, in the second stage."""
    if dist.get_rank() == 0:
        y = stage(x)
        send(y)
        y.backward(received(*y.shape))
        return None
    y = received(ROWS, 8).requires_grad_()
    loss = stage(y).square().mean() * factor
    loss.backward()
    send(y.grad)
    return loss


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


PIPELINES = [by_hand, within_backward, by_schedule]


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
