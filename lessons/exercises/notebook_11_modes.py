"""Exercises on freezing, hooks and several processes."""

import torch
from torch import nn

from lessons.exercises.answers import call_answer, expect_close, expect_tensor
from lessons.exercises.exercise import Exercise, Wrong
from lessons.exercises.seeded import random_tensors


def _network(seed, features, dtype):
    first, second = random_tensors(seed, (4, features), (2, 4))
    network = nn.Sequential(nn.Linear(features, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)
    with torch.no_grad():
        network[0].weight.copy_(first)
        network[2].weight.copy_(second)
        network[0].bias.zero_()
        network[2].bias.fill_(0.5)
    return network


def _check_content_loss(answer):
    for seed, shape, dtype in (
        (0, (5, 3), torch.float64),
        (1, (5, 3), torch.float64),
        (2, (2, 6), torch.float32),
    ):
        image, target = (
            each.to(dtype).requires_grad_() for each in random_tensors(seed, shape, shape)
        )
        network, other = (_network(seed, shape[1], dtype) for _ in range(2))
        difference = other(image) - other(target).detach()
        right = difference.square().mean()
        (expected,) = torch.autograd.grad(right, image)
        loss = call_answer(answer, image, target, network)
        mistakes = {"That is the sum, expected the mean.": difference.square().sum()}
        expect_close("loss", loss, right, mistakes)
        if not loss.requires_grad:
            raise Wrong(
                "the value is right, but the loss has no history: no gradient passes through "
                "no_grad, inference_mode or detach."
            )
        loss.backward()
        if image.grad is None:
            raise Wrong(
                "image.grad: yours None, expected a tensor. Something between the image and the "
                "loss cuts its path."
            )
        expect_close("image.grad", image.grad, expected)
        trained = [name for name, p in network.named_parameters() if p.grad is not None]
        if trained:
            raise Wrong(
                f"the parameter {trained[0]} of the network has a gradient, expected None: it is "
                "not frozen. eval() does not freeze it, and neither does network.requires_grad = "
                "False: requires_grad_ is a method."
            )
        if target.grad is not None:
            raise Wrong("target.grad: yours is a tensor, expected None. Only the image is trained.")


def _check_clipped(answer):
    for seed, limit, shape, dtype in (
        (0, 0.5, (6,), torch.float64),
        (1, 0.75, (2, 4), torch.float32),
    ):
        x, upstream, other = (each.to(dtype) for each in random_tensors(seed, shape, shape, shape))
        x.requires_grad_()
        upstream = 3 * upstream  # some are above 1, some below -1: the limit has to be used
        y = call_answer(answer, x, limit)
        expect_close(
            "value", y, x, {"The value is clamped, expected the gradient.": x.clamp(-limit, limit)}
        )
        if not y.requires_grad:
            raise Wrong("the value is right, but it has no history: no gradient reaches x.")
        (y * upstream + x * other).sum().backward()
        if x.grad is None:
            raise Wrong("x.grad: yours None, expected a tensor. The path to x is cut.")
        norm = upstream * (limit / upstream.norm()).clamp(max=1)
        mistakes = {
            "The hook is on x itself, so it clamps the sum of all paths.": (
                (upstream + other).clamp(-limit, limit)
            ),
            "Nothing is clamped: a hook has to return the new gradient.": upstream + other,
            "That is clipping by norm, expected each number by itself.": norm + other,
            "The path through the result is cut.": other,
            "Only what is too large is clamped, expected what is below -limit, too.": (
                upstream.clamp(max=limit) + other
            ),
            "It is clamped to [-1, 1], whatever the limit is.": upstream.clamp(-1, 1) + other,
        }
        expect_close("x.grad", x.grad, upstream.clamp(-limit, limit) + other, mistakes)
        _expect_no_write(answer, x.detach().clone().requires_grad_(), upstream, limit)


def _expect_no_write(answer, x, upstream, limit):
    """A sum hands the same gradient to both of its terms."""
    neighbour = torch.zeros_like(x).requires_grad_()
    term = neighbour * 1  # made first, so backward comes to it last
    ((call_answer(answer, x, limit) + term) * upstream).sum().backward()
    expect_close(
        "gradient of a neighbour that is added to the result",
        neighbour.grad,
        upstream,
        why="The hook writes into the gradient that it gets, which the neighbour gets, too: clamp, "
        "not clamp_.",
    )


def _check_loss_of_process(answer):
    for lengths, dtype in (
        ((2, 2), torch.float64),
        ((1, 3), torch.float64),
        ((1, 2, 5), torch.float32),
        ((3, 0), torch.float64),
    ):
        everywhere, processes = sum(lengths), len(lengths)
        (weight,) = random_tensors(everywhere, (everywhere,))
        weight = weight.to(dtype).requires_grad_()
        shares = (weight**2).split(list(lengths))
        yours = [call_answer(answer, losses, everywhere, processes) for losses in shares]
        where = f"gradient of the mean over samples {' + '.join(map(str, lengths))}"
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
        mistakes = {
            "That is a mean of means: each process counts the same.": [s.mean() for s in shares],
            "DDP divides by the number of processes once more.": [
                s.sum() / everywhere for s in shares
            ],
            "That is the sum divided by the number of processes.": [s.sum() for s in shares],
            "The number of processes belongs into the product, not the divisor.": [
                s.sum() / everywhere / processes for s in shares
            ],
        }
        found = _as_ddp(yours, weight)
        wrong = {why: _as_ddp(losses, weight) for why, losses in mistakes.items()}
        expect_close(where, found, 2 * weight / everywhere, wrong)
        expect_close(
            f"mean of the losses of samples {' + '.join(map(str, lengths))}",
            torch.stack([each.to(dtype) for each in yours]).mean(),
            (weight**2).mean(),
            why="The mean of no sample is 0 / 0: take the sum.",
        )


def _as_ddp(losses, weight):
    """The mean of the gradients of all processes."""
    gradients = [torch.autograd.grad(loss, weight, retain_graph=True)[0] for loss in losses]
    return torch.stack(gradients).mean(0)


EXERCISES = (
    Exercise(
        "11.5",
        "A loss through a frozen network",
        8,
        "An image is trained until a network sees in it what it sees in a target. `content_loss`, "
        "in the cell below, returns the right loss, but its `backward()` raises an error. Write "
        "`repaired_content_loss(image, target, network)`: the same number, the right gradient for "
        "`image`, and none for `target` and for the parameters of `network`. The network is a "
        "`nn.Module` that nobody has frozen yet.",
        (
            "Which of the *ways to freeze a layer* lets a gradient pass to what comes before it?",
            "`network(image)` has to be recorded, outside of `no_grad`. `network(target)` does "
            "not.",
            "`network.requires_grad_(False)` freezes the network, and `target.detach()` the "
            "target.",
        ),
        _check_content_loss,
        "The image learns, and the network stays as it is.",
    ),
    Exercise(
        "11.6",
        "Clip the gradient on one path",
        6,
        "Write `clipped(x, limit)`. It returns the numbers of x, and the gradient that passes "
        "back *through the result* is clamped to [-limit, limit], each number by itself. What "
        "reaches x on other paths is not touched.",
        (
            "A hook on x would get the sum of all paths. Make a new tensor first, with the same "
            "numbers and a history.",
            "The hook returns the new gradient, and does not write into the one it gets.",
            "`y = x.view_as(x)`, then `y.register_hook(...)` with `gradient.clamp(...)`.",
        ),
        _check_clipped,
        "One path is clipped, and the others are not.",
    ),
    Exercise(
        "11.7",
        "The loss of one process",
        5,
        "Write `loss_of_process(losses, everywhere, processes)`. `losses` is a vector with the "
        "losses of this process's samples, `everywhere` the number of samples in all processes, "
        "and `processes` their number. DDP will take the mean of the gradients. The result has to "
        "be the gradient of the mean over *all* samples, also if some process has none.",
        (
            "Which sum is the mean over all samples? Which part of it belongs to this process?",
            "DDP divides by the number of processes. Undo that in advance.",
            "`losses.sum()`, times one number, divided by the other.",
        ),
        _check_loss_of_process,
        "Every sample counts the same, wherever it is.",
    ),
)
