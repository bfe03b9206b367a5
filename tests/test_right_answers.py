"""Every correct spelling of an exercise's answer is accepted, not the folded solution alone."""

import copy

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
from wrong_answers.notebook_12 import dead_of, layer, nearest, places, right, straight

from helpers.functions import apply_anywhere, value_with_gradient_of
from lessons.checking import check


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


def value_of_q(z, q):
    y = z.clone()
    y.detach().copy_(q)
    return y


def by_embedding(z, codes, beta):
    q = torch.nn.functional.embedding(nearest(z, codes), codes)
    return straight(z, q), right(z, q, None, beta)


def by_a_mask(codes, z, index):
    dead = torch.ones(len(codes), dtype=torch.bool)
    dead[index] = False
    with torch.no_grad():
        codes[dead] = z[torch.randperm(len(z))[: dead.sum()]]


def one_code_at_a_time(codes, z, index):
    rows = torch.randperm(len(z)).tolist()
    with torch.no_grad():
        for k in set(range(len(codes))) - set(index.tolist()):
            codes[k] = z[rows.pop()]


def through_data(codes, z, index):
    dead = dead_of(codes, index)
    codes.data[dead] = z.detach()[torch.randperm(len(z))[: len(dead)]]


def by_grad(x, **options):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y, **options)[0]


def by_number(logits, baseline, chosen, cost):
    advantage = cost - baseline
    return advantage.item() * logits.log_softmax(-1)[chosen] + advantage**2


def with_cross_entropy(logits, baseline, chosen, cost):
    surprise = torch.nn.functional.cross_entropy(logits, torch.tensor(chosen))
    return (baseline.detach() - cost) * surprise + (baseline - cost).square()


def by_ratio(logits, baseline, chosen, cost):
    log_p = logits.log_softmax(-1)[chosen]
    advantage = cost - baseline
    return (log_p - log_p.detach()).exp() * advantage.detach() + advantage.square()


def gumbel_at(name, temperature):
    for_each = {1: ["softmax", 1], 100: (name, temperature), 10_000: ("with baseline", 0.5)}
    return for_each.get


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
    for clipped, g in zip(copies, gradients, strict=True):
        clipped.grad = g.clone()
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


def through_functional_call(image, target, network):
    fixed = {name: p.detach() for name, p in network.named_parameters()}
    goal = network(target).detach()
    seen = torch.func.functional_call(network, fixed, image)
    return torch.nn.functional.mse_loss(seen, goal)


def one_by_one(image, target, network):
    for parameter in network.parameters():
        parameter.requires_grad = False
    with torch.no_grad():
        goal = network(target)
    return ((network(image) - goal) ** 2).mean()


def through_a_copy(image, target, network):
    with torch.inference_mode():
        goal = network(target)
    fixed = copy.deepcopy(network).requires_grad_(False)
    return (fixed(image) - goal.clone()).square().mean()


class ClampsGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


def with_a_hook(new):
    def clipped(x, limit):
        y = new(x)
        y.register_hook(lambda gradient: torch.clamp(gradient, -limit, limit))
        return y

    return clipped


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
        "in float32": lambda weight, batches: accumulated_outside(weight, batches).float(),
    },
    "11.2": {
        "as torch does": clipped_as_torch_does,
        "a tuple": lambda gradients, limit: tuple(clipped_as_torch_does(gradients, limit)),
        "in float32": lambda gradients, limit: [
            g.float() for g in clipped_as_torch_does(gradients, limit)
        ],
    },
    "11.3": {"zeroed at the end": zeroed_at_the_end, "a larger limit": clipped_by_a_larger_limit},
    "11.4": {
        "not reentrant": not_reentrant,
        "an input that requires": input_that_requires,
        "all in one": all_in_one,
    },
    "11.5": {
        "functional_call": through_functional_call,
        "one by one": one_by_one,
        "a frozen copy": through_a_copy,
    },
    "11.6": {
        "a clone": with_a_hook(torch.clone),
        "times 1": with_a_hook(lambda x: x * 1),
        "a view": with_a_hook(lambda x: x.view(x.shape)),
        "a Function": ClampsGradient.apply,
    },
    "11.7": {
        "the share first": lambda losses, everywhere, processes: (
            processes * (losses / everywhere).sum()
        ),
        "a mean where there are any": lambda losses, everywhere, processes: (
            losses.mean() * len(losses) * processes / everywhere if len(losses) else losses.sum()
        ),
        "a divisor": lambda losses, everywhere, processes: losses.sum() / (everywhere / processes),
    },
    "12.1": {
        "a plain number": by_number,
        "with cross_entropy": with_cross_entropy,
        "by a ratio of 1": by_ratio,
    },
    "12.2": {
        "soft": gumbel_at("Gumbel soft", 0.25),
        "soft and warmer": gumbel_at("Gumbel soft", 0.5),
        "hard": gumbel_at("Gumbel hard", 0.5),
        "hard, between the usual temperatures": gumbel_at("Gumbel hard", 0.4),
    },
    "12.3": {
        "a copy of q's value": layer(right, through=value_of_q),
        "z last": layer(right, through=lambda z, q: (q - z).detach() + z),
        "squares by hand": layer(
            lambda z, q, y, beta: (
                ((q - z.detach()) ** 2).mean() + beta * ((q.detach() - z) ** 2).mean()
            )
        ),
        "rows by an embedding": by_embedding,
        "a list": lambda z, codes, beta: list(by_embedding(z, codes, beta)),
    },
    "12.4": {
        "by a mask": by_a_mask,
        "one by one": one_code_at_a_time,
        "through .data": through_data,
        "the first vectors": places(lambda codes, z, dead: z[: len(dead)]),
    },
}
ANSWERS = [(number, name) for number, answers in RIGHT.items() for name in answers]


@pytest.mark.parametrize("number, name", ANSWERS, ids=[f"{n}-{name}" for n, name in ANSWERS])
def test_a_right_answer_is_accepted(number, name, capsys):
    check(number, RIGHT[number][name])
    assert capsys.readouterr().out.startswith(f"✓ {number} ")
