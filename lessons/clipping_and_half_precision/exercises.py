"""Checks on clipping and half precision."""

import torch
from torch import nn

from autograd_surprises.numerics import short_number
from lessons.asking.answers import as_number, call_answer, expect_close, same
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of


def _flat(tensors):
    return torch.cat([each.flatten() for each in tensors])


def _clip_by_norm(gradients, limit):
    length = _flat(gradients).norm()
    return [g * min(1.0, limit / length) if length else g for g in gradients]


def _mistakes_of_clipping(gradients, limit):
    whole = _flat(gradients).norm()
    factors = {
        "It is scaled to the limit in any case: what is shorter stays as it is.": limit / whole,
        "The lengths of the tensors are added up. The length of the whole is the root of the sum "
        "of their squares.": min(1.0, limit / sum(g.norm() for g in gradients)),
    }
    return {
        "Each tensor is clipped by its own length: that changes the direction of the whole.": [
            _clip_by_norm([g], limit)[0] for g in gradients
        ],
        "Each element is clipped by its value: that changes the direction.": [
            g.clamp(-limit, limit) for g in gradients
        ],
        **{why: [g * factor for g in gradients] for why, factor in factors.items()},
    }


LONG = [4 * g for g in random_tensors(2, (2, 3), (4,))]
NOTHING = [torch.zeros(2, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)]
THREE = [3 * g.float() for g in random_tensors(3, (3,), (), (2, 1, 2))]


@check_of(
    "clipping_and_half_precision.1",
    "Shorter, and in the same direction.",
    inputs=[
        ("long", LONG, 2.0),
        ("short", LONG, 50.0),
        ("all 0", NOTHING, 2.0),
        ("long, with the limit 0.75, in float32", THREE, 0.75),
    ],
)
def check_clipped_together(answer, where, gradients, limit):
    given = [g.clone() for g in gradients]
    found = call_answer(answer, given, limit)
    if not all(map(torch.equal, given, gradients)):
        raise Wrong("it writes into the gradients that it was given: return new tensors.")
    mistakes, why = {}, "0 / 0: a length of 0 is no divisor."
    if gradients is not NOTHING:
        mistakes, why = _mistakes_of_clipping(gradients, limit), ""
    fitting = {reason: each for reason, each in mistakes.items() if all(map(same, found, each))}
    for k, right in enumerate(_clip_by_norm(gradients, limit)):
        wrong = {reason: each[k] for reason, each in fitting.items()}
        expect_close(f"gradients {where}, tensor {k}", found[k], right, wrong, why)


STEPS = (  # the true gradient of two weights and a bias; its length is 0.5, 5, infinite and 5
    ("a short gradient", (0.18, 0.24, -0.4)),
    ("a long gradient", (2.4, 3.2, 3.0)),
    ("an infinite gradient", (float("inf"), 2.0, 1.0)),
    ("a step after the one that was skipped", (-2.4, 3.2, -3.0)),
)

CURES = {
    "unscale_() ": "scaler.update() is missing: it ends the step.",
    "so it cannot be clipped": "error_if_nonfinite=True ends the training here. Leave it out: "
    "scaler.step(optimizer) skips such a gradient.",
}


@check_of(
    "clipping_and_half_precision.2",
    "Clipped at its true length, and an infinite gradient is skipped.",
    inputs=[  # a factor of the gradients, shapes of the parameters, scale, limit (not 1)
        (torch.tensor(1.0).double(), ((2,), (1,)), 1024.0, 2.0),
        (torch.tensor(1.5), ((), (2, 1)), 256.0, 2.5),
    ],
)
def check_half_step(answer, factor, shapes, scale, limit):
    parameters = [nn.Parameter(torch.ones(shape, dtype=factor.dtype)) for shape in shapes]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    arrived = {}
    for k, parameter in enumerate(parameters):
        parameter.register_hook(lambda gradient, k=k: arrived.update({k: gradient.clone()}))
    for where, gradient in STEPS:
        gradient = factor * torch.tensor(gradient, dtype=factor.dtype)
        before, scale = _flat(parameters).detach(), scaler.get_scale()
        loss = (_flat(parameters) * gradient).sum()
        try:
            length = call_answer(answer, parameters, optimizer, scaler, loss, limit, cures=CURES)
        except AssertionError as error:
            raise Wrong(f"{where}: {error} Multiply the loss by scaler.scale(loss).") from None
        change = before - _flat(parameters).detach()
        if gradient.isfinite().all():
            _expect_scaled(arrived, gradient, scale, where)
            expected = _clip_by_norm([gradient], limit)[0]
            mistakes = _mistakes_of_order(gradient, factor, scale, limit)
            expect_close(f"what {where} subtracts", change, expected, mistakes)
            true = gradient.norm().item()
            if abs(as_number(length) - true) > 1e-4 * true:
                yours = f"yours {short_number(length)}, expected {short_number(true)}"
                raise Wrong(f"the length of {where} before clipping: {yours}. Clipping returns it.")
        else:
            why = "Only scaler.step(optimizer) skips an infinite gradient."
            expect_close(f"what {where} subtracts", change, 0 * before, why=why)
        arrived.clear()


def _expect_scaled(arrived, gradient, scale, where):
    if not torch.allclose(_flat([arrived[k] for k in sorted(arrived)]), gradient * scale):
        raise Wrong(
            f"{where}: the loss of your backward is not multiplied by {scale:g}. In half "
            "precision, a small gradient would become 0: call scaler.scale(loss).backward()."
        )


def _mistakes_of_order(gradient, factor, scale, limit):
    clipped = _clip_by_norm([gradient], limit)[0]
    of_scaled = _clip_by_norm([gradient * scale], limit)[0]
    before = factor * torch.tensor(STEPS[0][1], dtype=factor.dtype)
    kept = _clip_by_norm([gradient + before / scale], limit)[0]
    return {
        "It is clipped while it is still multiplied by the scale.": of_scaled / scale,
        "It is divided by the scale twice.": clipped / scale,
        "Nothing is clipped.": gradient,
        "It is never divided by the scale.": of_scaled,
        "The gradient of the step before is still in .grad: optimizer.zero_grad().": kept,
    }
