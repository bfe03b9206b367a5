"""Check on a hook."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of


@check_of(
    "hooks.1",
    "One path is clipped, and the others are not.",
    inputs=[(0, 0.5, (6,), torch.float64), (1, 0.75, (2, 4), torch.float32)],
)
def check_clipped(answer, seed, limit, shape, dtype):
    x, upstream, other = random_tensors(seed, shape, shape, shape, dtype=dtype)
    x.requires_grad_()
    upstream = 3 * upstream  # some are above 1, some below -1: the limit has to be used
    y = call_answer(answer, x, limit)
    mistakes = {"The value is clamped, expected the gradient.": x.clamp(-limit, limit)}
    expect_close("value", y, x, mistakes)
    if not y.requires_grad:
        raise Wrong("the value is right, but it has no history: no gradient reaches x.")
    (y * upstream + x * other).sum().backward()
    mistakes = {
        "The hook is on x itself, so it clamps the sum of all paths.": (
            (upstream + other).clamp(-limit, limit) - other
        ),
        "Nothing is clamped: a hook has to return the new gradient.": upstream,
        "That is clipping by norm, expected each number by itself.": (
            upstream * (limit / upstream.norm()).clamp(max=1)
        ),
        "The path through the result is cut.": 0 * upstream,
    }
    wrong = {reason: of_result + other for reason, of_result in mistakes.items()}
    expect_close("x.grad", x.grad, upstream.clamp(-limit, limit) + other, wrong)
    # A sum hands the same gradient to both of its terms.
    neighbour = torch.zeros_like(x).requires_grad_()
    term = neighbour * 1  # made first, so backward comes to it last
    ((call_answer(answer, x, limit) + term) * upstream).sum().backward()
    where = "gradient of a neighbour that is added to the result"
    why = "The hook writes into the gradient that it gets, which the neighbour gets, too:"
    expect_close(where, neighbour.grad, upstream, why=f"{why} clamp, not clamp_.")
