"""Every correct spelling of an exercise's answer is accepted, not the folded solution alone."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function
from torch.nn.utils import clip_grad_norm_
from torch.utils.checkpoint import checkpoint
from wrong_answers.notebook_10 import (
    Gate,
    OldForm,
    TwoResults,
    WrongForward,
    copied,
    frugal,
    function,
    gate,
    inside,
    masked,
    repaired,
    slope,
    step,
)

from helpers.functions import apply_anywhere, value_with_gradient_of
from helpers.lessons.checking import check


class WithVmap(Gate):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(*ctx.saved_tensors)

    @staticmethod
    def vmap(info, in_dims, x):
        return WithVmap.apply(x), in_dims[0]


class WithJvp(WrongForward):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * slope(*ctx.saved_tensors)


class OldFormSign(OldForm):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(inside(x))
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return masked(grad_output, *ctx.saved_tensors)


class Packed(Function):
    """Eight answers in a byte."""

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        bits = torch.nn.functional.pad(inside(x).byte(), (0, -len(x) % 8)).view(-1, 8)
        ctx.save_for_backward((bits << torch.arange(8)).sum(1).byte())

    @staticmethod
    def backward(ctx, grad_output):
        (packed,) = ctx.saved_tensors
        bits = (packed[:, None] >> torch.arange(8)) & 1
        return masked(grad_output, bits.flatten()[: len(grad_output)].bool())


def copied_sign(x, proxy):
    y = proxy(x)
    y.detach().copy_(x.sign())
    return y


def by_retaining(x):
    y = x.exp()
    y.retain_grad()
    torch.autograd.backward((y**2).sum())
    return y.grad


def by_hook(x):
    y, arrived = x.exp(), []
    y.register_hook(arrived.append)
    (y**2).sum().backward()
    return arrived[0]


def from_a_new_leaf(x):
    y = x.detach().exp().requires_grad_()
    (y**2).sum().backward()
    return y.grad


def by_grad(x, **options):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y, **options)[0]


def accumulated_once(weight, batches):
    """Adds the losses up in .grad, and divides that at the end."""
    count = 0
    for tokens, labels in batches:
        F.cross_entropy(tokens @ weight, labels, reduction="sum").backward()
        count += (labels != -100).sum()
    weight.grad /= count
    return weight.grad


def accumulated_outside(weight, batches):
    count = sum((labels != -100).sum() for _, labels in batches)
    return sum(
        torch.autograd.grad(F.cross_entropy(t @ weight, y, reduction="sum"), weight)[0] / count
        for t, y in batches
    )


def means_weighted(weight, batches):
    counts = [(labels != -100).sum() for _, labels in batches]
    for (tokens, labels), count in zip(batches, counts, strict=True):
        (F.cross_entropy(tokens @ weight, labels) * count / sum(counts)).backward()
    return weight.grad


def clipped_as_torch_does(gradients, limit):
    copies = [g.clone().requires_grad_() for g in gradients]
    for copy, g in zip(copies, gradients, strict=True):
        copy.grad = g.clone()
    clip_grad_norm_(copies, limit)
    return [copy.grad for copy in copies]


def zeroed_at_the_end(parameters, optimizer, scaler, loss, limit):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    length = clip_grad_norm_(parameters, limit).item()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return length


def clipped_by_a_larger_limit(parameters, optimizer, scaler, loss, limit):
    """Without unscale_: the limit is multiplied by the scale, too."""
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    length = clip_grad_norm_(parameters, limit * scale)
    scaler.step(optimizer)
    scaler.update()
    return length / scale


def input_that_requires(blocks, x):
    x = x.detach().requires_grad_()
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=True)
    return x


def not_reentrant(blocks, x):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


def all_in_one(blocks, x):
    return checkpoint(nn.Sequential(*blocks), x, use_reentrant=False)


RIGHT = {
    "01.2": {
        "retained": by_retaining,
        "a hook": by_hook,
        "autograd.grad": by_grad,
        "a new leaf": from_a_new_leaf,
        "with a graph": lambda x: by_grad(x, create_graph=True),
        "torch.func": lambda x: torch.func.grad(lambda y: (y**2).sum())(x.exp()),
    },
    "10.1": {
        "a product": repaired(lambda g, x: g * slope(x)),
        "in place in a copy": repaired(lambda g, x: g.clone().mul_(slope(x))),
        "a vmap of its own": WithVmap.apply,
        "forward mode, too": WithJvp.apply,
        "as in helpers.functions": lambda x: apply_anywhere(WithVmap, x, proxy=gate),
    },
    "10.2": {
        "made in setup_context": frugal(masked),
        "a second output": lambda x: TwoResults.apply(x)[0],
        "the old form": OldFormSign.apply,
        "bytes": frugal(lambda g, mask: masked(g, mask > 0), save=lambda x: inside(x).byte()),
        "bits": Packed.apply,
        "masked_fill": frugal(lambda g, mask: g.masked_fill(~mask, 0)),
        "where, without a class": lambda x: copied_sign(
            x, lambda x: torch.where(x.abs() <= 1, x, 0)
        ),
        "masked_fill, without a class": lambda x: copied_sign(
            x, lambda x: x.masked_fill(x.abs() > 1, 0)
        ),
        "with vmap": function(lambda x: x.sign(), masked, inside, generate_vmap_rule=True),
    },
    "10.3": {
        "a clone": copied,
        "a sum": lambda x: copied(x, lambda x: torch.relu(x) + 0),
        "where": lambda x: copied(x, lambda x: torch.where(x > 0, x, 0)),
        "a product": lambda x: copied(x, lambda x: x * (x > 0)),
        "from helpers.functions": lambda x: value_with_gradient_of(step(x), torch.relu(x)),
    },
    "11.1": {
        "divided at the end": accumulated_once,
        "without .grad": accumulated_outside,
        "means, weighted": means_weighted,
    },
    "11.2": {"as torch does": clipped_as_torch_does},
    "11.3": {"zeroed at the end": zeroed_at_the_end, "a larger limit": clipped_by_a_larger_limit},
    "11.4": {
        "not reentrant": not_reentrant,
        "an input that requires": input_that_requires,
        "all in one": all_in_one,
    },
}
CASES = [(number, name) for number, answers in RIGHT.items() for name in answers]


@pytest.mark.parametrize("number, name", CASES, ids=[f"{n}-{name}" for n, name in CASES])
def test_a_right_answer_is_accepted(number, name, capsys):
    check(number, RIGHT[number][name])
    assert capsys.readouterr().out.startswith(f"✓ {number} ")
