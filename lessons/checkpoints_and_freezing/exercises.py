"""Checks on checkpoints and frozen networks."""

import torch
import torch.nn.functional as F
from torch import nn

from lessons.asking.answers import call_answer, expect_close, expect_tensor
from lessons.asking.arguments import random_tensors, small_network
from lessons.asking.registry import Wrong, check_of
from lessons.saved_tensors import saved_tensors


class AdaptedBlock(nn.Module):
    """A frozen layer, an adapter of rank 2 beside it, and dropout."""

    def __init__(self, width, generator, runs):
        super().__init__()
        self.runs = runs  # all blocks append themselves to this list
        frozen, down, up = (
            torch.randn(shape, generator=generator) / shape[0] ** 0.5
            for shape in ((width, width), (width, 2), (2, width))
        )
        self.frozen = nn.Parameter(frozen, requires_grad=False)
        self.down, self.up = nn.Parameter(down), nn.Parameter(up)

    def forward(self, x):
        self.runs.append(self)
        return F.dropout(torch.tanh(x @ self.frozen + x @ self.down @ self.up), 0.5)


@check_of(
    "checkpoints_and_freezing.1",
    "Every adapter has its gradient, and the graph keeps only the inputs.",
    inputs=[(6, 8, 4, torch.float32), (3, 5, 2, torch.float64)],
)
def check_checkpointed(answer, rows, width, number, dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=generator).to(dtype)
    runs = []
    blocks = [AdaptedBlock(width, generator, runs).to(dtype) for _ in range(number)]
    with torch.random.fork_rng():
        expected, gradients, _ = _run_once(_run_plainly, blocks, x)
        runs.clear()
        found, yours, kept = _run_once(answer, blocks, x)
    expect_close("value", found, expected)
    for name, right in gradients.items():
        mine = yours[name]
        if right is None and mine is not None:
            raise Wrong(f"{name}: yours has a gradient, but this weight is to stay frozen.")
        if right is not None:
            why = "Does forward draw the same dropout when it runs again in backward?"
            if mine is None:
                why = "Nothing inside this checkpoint was recorded."
            expect_close(f"gradient with respect to {name}", mine, right, why=why)
    most = x.nbytes * len(blocks)
    if kept > most:
        raise Wrong(
            f"kept for backward: yours {kept} bytes, expected at most {most}, the inputs of "
            f"the {len(blocks)} blocks. Run every block in a checkpoint."
        )
    if runs != [*blocks, *reversed(blocks)]:
        raise Wrong(
            f"backward runs the blocks {[blocks.index(each) for each in runs[number:]]} again, "
            "expected the last one first. Give each block a checkpoint of its own: one around "
            "several of them keeps all of these at once while backward runs."
        )


def _run_plainly(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def _run_once(answer, blocks, x):
    """The value, {name: gradient}, and the bytes that the graph keeps; always the same dropout."""
    model = nn.ModuleList(blocks)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("frozen" not in name)
        parameter.grad = None
    torch.manual_seed(0)
    given = x.clone()
    with saved_tensors() as saved:
        y = call_answer(answer, blocks, given)
    if given.requires_grad:
        raise Wrong(
            "x itself requires a gradient now, and belongs to the caller: detach() it first."
        )
    expect_tensor("value", y, x.shape)
    if not y.requires_grad:
        raise Wrong(
            "the result has no grad_fn. A reentrant checkpoint records nothing if "
            "none of its *inputs* requires a gradient; what its weights require does not count."
        )
    kept = saved.bytes
    (y**2).sum().backward()
    return y.detach(), {name: p.grad for name, p in model.named_parameters()}, kept


@check_of(
    "checkpoints_and_freezing.2",
    "The image learns, and the network stays as it is.",
    inputs=[((5, 3), torch.float64), ((2, 6), torch.float32)],
)
def check_content_loss(answer, shape, dtype):
    image, target = random_tensors(0, shape, shape, dtype=dtype)
    for each in (image, target):
        each.requires_grad_()
    network, other = (small_network(shape[1], 4, 2, dtype) for _ in range(2))
    difference = other(image) - other(target).detach()
    right = difference.square().mean()
    (expected,) = torch.autograd.grad(right, image)
    loss = call_answer(answer, image, target, network)
    mistakes = {"That is the sum, expected the mean.": difference.square().sum()}
    expect_close("loss", loss, right, mistakes)
    if not loss.requires_grad:
        raise Wrong(
            "the value is right, but the loss has no history: no gradient passes through no_grad, "
            "inference_mode or detach."
        )
    loss.backward()
    why = "Something between the image and the loss cuts its path."
    expect_close("image.grad", image.grad, expected, why=why)
    for name, parameter in network.named_parameters():
        if parameter.grad is not None:
            raise Wrong(
                f"the parameter {name} of the network has a gradient, expected None: it is not "
                "frozen. eval() does not freeze it, and neither does network.requires_grad = "
                "False: requires_grad_ is a method."
            )
    if target.grad is not None:
        raise Wrong("target.grad: yours is a tensor, expected None. Only the image is trained.")
