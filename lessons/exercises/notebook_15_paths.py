"""Checks on freezing, hooks and several processes."""

import torch
from torch import nn

from lessons.exercises.answers import call_answer, expect_close, expect_tensor
from lessons.exercises.arguments import random_tensors
from lessons.exercises.registry import Wrong, check_of


def _network(seed, features, dtype):
    first, second = random_tensors(seed, (4, features), (2, 4))
    network = nn.Sequential(nn.Linear(features, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)
    with torch.no_grad():
        network[0].weight.copy_(first)
        network[2].weight.copy_(second)
        network[0].bias.zero_()
        network[2].bias.fill_(0.5)
    return network


@check_of(
    "15.5",
    "The image learns, and the network stays as it is.",
    inputs=[(0, (5, 3), torch.float64), (1, (5, 3), torch.float64), (2, (2, 6), torch.float32)],
)
def check_content_loss(answer, seed, shape, dtype):
    image, target = (each.to(dtype).requires_grad_() for each in random_tensors(seed, shape, shape))
    network, other = (_network(seed, shape[1], dtype) for _ in range(2))
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
    if image.grad is None:
        raise Wrong(
            "image.grad: yours None, expected a tensor. Something between the image and the loss "
            "cuts its path."
        )
    expect_close("image.grad", image.grad, expected)
    for name, parameter in network.named_parameters():
        if parameter.grad is not None:
            raise Wrong(
                f"the parameter {name} of the network has a gradient, expected None: it is not "
                "frozen. eval() does not freeze it, and neither does network.requires_grad = "
                "False: requires_grad_ is a method."
            )
    if target.grad is not None:
        raise Wrong("target.grad: yours is a tensor, expected None. Only the image is trained.")


@check_of(
    "15.6",
    "One path is clipped, and the others are not.",
    inputs=[(0, 0.5, (6,), torch.float64), (1, 0.75, (2, 4), torch.float32)],
)
def check_clipped(answer, seed, limit, shape, dtype):
    x, upstream, other = (each.to(dtype) for each in random_tensors(seed, shape, shape, shape))
    x.requires_grad_()
    upstream = 3 * upstream  # some are above 1, some below -1: the limit has to be used
    y = call_answer(answer, x, limit)
    mistakes = {"The value is clamped, expected the gradient.": x.clamp(-limit, limit)}
    expect_close("value", y, x, mistakes)
    if not y.requires_grad:
        raise Wrong("the value is right, but it has no history: no gradient reaches x.")
    (y * upstream + x * other).sum().backward()
    if x.grad is None:
        raise Wrong("x.grad: yours None, expected a tensor. The path to x is cut.")
    mistakes = {
        "The hook is on x itself, so it clamps the sum of all paths.": (
            (upstream + other).clamp(-limit, limit) - other
        ),
        "Nothing is clamped: a hook has to return the new gradient.": upstream,
        "That is clipping by norm, expected each number by itself.": (
            upstream * (limit / upstream.norm()).clamp(max=1)
        ),
        "The path through the result is cut.": 0 * upstream,
        "Only what is too large is clamped, expected what is below -limit, too.": (
            upstream.clamp(max=limit)
        ),
        "It is clamped to [-1, 1], whatever the limit is.": upstream.clamp(-1, 1),
    }
    wrong = {reason: of_result + other for reason, of_result in mistakes.items()}
    expect_close("x.grad", x.grad, upstream.clamp(-limit, limit) + other, wrong)
    _expect_no_write(answer, x.detach().clone().requires_grad_(), upstream, limit)


def _expect_no_write(answer, x, upstream, limit):
    """A sum hands the same gradient to both of its terms."""
    neighbour = torch.zeros_like(x).requires_grad_()
    term = neighbour * 1  # made first, so backward comes to it last
    ((call_answer(answer, x, limit) + term) * upstream).sum().backward()
    where = "gradient of a neighbour that is added to the result"
    why = "The hook writes into the gradient that it gets, which the neighbour gets, too:"
    expect_close(where, neighbour.grad, upstream, why=f"{why} clamp, not clamp_.")


@check_of(
    "15.7",
    "Every sample counts the same, wherever it is.",
    inputs=[
        ((2, 2), torch.float64),
        ((1, 3), torch.float64),
        ((1, 2, 5), torch.float32),
        ((3, 0), torch.float64),
    ],
)
def check_loss_of_process(answer, lengths, dtype):
    everywhere, processes = sum(lengths), len(lengths)
    (weight,) = random_tensors(everywhere, (everywhere,))
    weight = weight.to(dtype).requires_grad_()
    shares = (weight**2).split(list(lengths))
    yours = [call_answer(answer, losses, everywhere, processes) for losses in shares]
    samples = f"samples {' + '.join(map(str, lengths))}"
    where = f"gradient of the mean over {samples}"
    for each in yours:
        if not isinstance(each, torch.Tensor) or not each.requires_grad:
            raise Wrong(f"{where}: your loss has no history, so nothing is trained.")
        expect_tensor("loss of one process", each, (), "Add up the losses.")
        if torch.autograd.grad(each, weight, allow_unused=True, retain_graph=True)[0] is None:
            raise Wrong(
                f"{where}: a loss of yours does not lead back to the weights, so its backward "
                "reaches none of them, and DDP in the other processes waits for it. An empty "
                "losses.sum() is 0, too, and does lead there."
            )
    sums = [share.sum() for share in shares]
    mistakes = {
        "That is a mean of means: each process counts the same.": [s.mean() for s in shares],
        "DDP divides by the number of processes once more.": [s / everywhere for s in sums],
        "That is the sum divided by the number of processes.": sums,
        "The number of processes belongs into the product, not the divisor.": [
            s / everywhere / processes for s in sums
        ],
    }
    wrong = {why: _as_ddp(losses, weight) for why, losses in mistakes.items()}
    expect_close(where, _as_ddp(yours, weight), 2 * weight / everywhere, wrong)
    mean = torch.stack([each.to(dtype) for each in yours]).mean()
    why = "The mean of no sample is 0 / 0: take the sum."
    expect_close(f"mean of the losses of {samples}", mean, (weight**2).mean(), why=why)


def _as_ddp(losses, weight):
    """The mean of the gradients of all processes."""
    gradients = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for loss in losses]
    return torch.stack(gradients).mean(0)
