"""Right and wrong answers on clipping and half precision."""

import torch
from torch.nn.utils import clip_grad_norm_


def whole_length(gradients):
    return torch.cat([g.flatten() for g in gradients]).norm()


def scaled_by(factor):
    def clip(gradients, limit):
        length = whole_length(gradients)
        return [g * factor(length, limit) for g in gradients]

    return clip


def each_alone(gradients, limit):
    return [g * min(1.0, limit / max(g.norm().item(), 1e-12)) for g in gradients]


def lengths_added(gradients, limit):
    length = sum(g.norm() for g in gradients)
    return [g * min(1.0, limit / max(length.item(), 1e-12)) for g in gradients]


def in_place(gradients, limit):
    for g in gradients:
        g.mul_(min(1.0, limit / whole_length(gradients).clamp(min=1e-12)))
    return gradients


def always_scaled(gradients, limit):
    return scaled_by(lambda length, limit: limit / length.clamp(min=1e-12))(gradients, limit)


class Loop:
    """A step whose parts can be replaced by others."""

    def __init__(self, **parts):
        self.parts = parts

    def __call__(self, parameters, optimizer, scaler, loss, limit):
        call = lambda name: self.parts.get(name, getattr(self, name))(  # noqa: E731
            parameters, optimizer, scaler, loss, limit
        )
        call("zero")
        call("backward")
        call("unscale")
        length = call("clip")
        call("step")
        call("update")
        return length

    def zero(self, parameters, optimizer, scaler, loss, limit):
        optimizer.zero_grad()

    def backward(self, parameters, optimizer, scaler, loss, limit):
        scaler.scale(loss).backward()

    def unscale(self, parameters, optimizer, scaler, loss, limit):
        scaler.unscale_(optimizer)

    def clip(self, parameters, optimizer, scaler, loss, limit):
        return clip_grad_norm_(parameters, limit)

    def step(self, parameters, optimizer, scaler, loss, limit):
        scaler.step(optimizer)

    def update(self, parameters, optimizer, scaler, loss, limit):
        scaler.update()


def nothing(*args):
    pass


def divide_by_hand(parameters, optimizer, scaler, loss, limit):
    for parameter in parameters:
        parameter.grad /= scaler.get_scale()


def clip_first(parameters, optimizer, scaler, loss, limit):
    length = clip_grad_norm_(parameters, limit)
    scaler.unscale_(optimizer)
    return length


def length_afterwards(parameters, *args):
    clip_grad_norm_(parameters, args[-1])
    return torch.cat([p.grad.flatten() for p in parameters]).norm()


def clipped_if_finite(parameters, *args):
    return clip_grad_norm_(parameters, args[-1], error_if_nonfinite=True)


def length_only(parameters, *args):
    return torch.cat([p.grad.flatten() for p in parameters]).norm()


def step_unscaled(parameters, optimizer, scaler, loss, limit):
    optimizer.step()


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


RIGHT = {
    "clipping_and_half_precision.1": {"as torch does": clipped_as_torch_does},
    "clipping_and_half_precision.2": {
        "zeroed at the end": zeroed_at_the_end,
        "a larger limit": clipped_by_a_larger_limit,
    },
}

WRONG = {
    "clipping_and_half_precision.1": {
        "each alone": (each_alone, "Each tensor is clipped by its own length"),
        "by value": (
            lambda gradients, limit: [g.clamp(-limit, limit) for g in gradients],
            "Each element is clipped by its value",
        ),
        "always scaled": (always_scaled, "gradients short … It is scaled to the limit in any case"),
        "0 divided by 0": (
            scaled_by(lambda length, limit: limit / length if length == 0 or length > limit else 1),
            "gradients all 0 … yours nan … 0 / 0",
        ),
        "lengths added": (lengths_added, "The lengths of the tensors are added up"),
        "in place": (in_place, "it writes into the gradients"),
    },
    "clipping_and_half_precision.2": {
        "as it was": (
            Loop(zero=nothing, unscale=nothing),
            "a short gradient … clipped while it is still multiplied",
        ),
        "old gradients stay": (Loop(zero=nothing), "a long gradient … optimizer.zero_grad()"),
        "clipped first": (Loop(unscale=nothing, clip=clip_first), "still multiplied by the scale"),
        "divided twice": (Loop(unscale=divide_by_hand), "It is divided by the scale twice"),
        "not unscaled, not skipped": (
            Loop(unscale=nothing, step=step_unscaled, update=nothing),
            "It is never divided by the scale",
        ),
        "not skipped": (
            Loop(step=step_unscaled),
            "what an infinite gradient subtracts … Only scaler.step(optimizer) skips",
        ),
        "no update": (Loop(update=nothing), "scaler.update() is missing"),
        "not scaled, not known": (
            Loop(backward=lambda p, o, s, loss, limit: loss.backward()),
            "_scale is None … scaler.scale(loss)",
        ),
        "not scaled": (
            Loop(
                backward=lambda p, o, s, loss, limit: loss.backward(),
                unscale=nothing,
                step=step_unscaled,
                update=nothing,
            ),
            "your backward is not multiplied by 1024",
        ),
        "not clipped": (Loop(clip=length_only), "Nothing is clipped"),
        "stops at infinity": (
            Loop(clip=clipped_if_finite),
            "error_if_nonfinite=True ends … Leave it out",
        ),
        "length afterwards": (Loop(clip=length_afterwards), "before clipping: yours 2, expected 5"),
    },
}
