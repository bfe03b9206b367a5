"""Check on a batch in pieces."""

import torch
import torch.nn.functional as F

from lessons.asking.answers import call_answer, expect_close, expect_tensor, same
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of

IGNORED = -100


def _batches(lengths, ignored, like):
    """Batches for a weight `like` this; so many labels at the end of each are not to be counted."""
    tokens = random_tensors(0, *((length, len(like)) for length in lengths))
    made = []
    for rows, count in zip(tokens, ignored, strict=True):
        labels = torch.arange(len(rows)) % 3
        labels[len(rows) - count :] = IGNORED
        made.append((rows.to(like.dtype), labels))
    return made


def _weighted_gradient(weight, batches, factors):
    """The gradient of the sum of factor · (sum of the losses of a batch)."""
    weight = weight.detach().clone().requires_grad_()
    for (tokens, labels), factor in zip(batches, factors, strict=True):
        (factor * F.cross_entropy(tokens @ weight, labels, reduction="sum")).backward()
    return weight.grad


def _mistakes_of_divisors(weight, batches):
    counts = [int((labels != IGNORED).sum()) for _, labels in batches]
    if 0 in counts:  # a mean of no label is NaN
        return {}
    number, length = len(counts), sum(len(labels) for _, labels in batches)
    factors = {
        "Each batch counts the same, so a label of a short one counts more than one of a long one: "
        "divide sums by the number of all labels.": [1 / c / number for c in counts],
        "The means are added up, and nothing divides them.": [1 / c for c in counts],
        f"You count tokens whose label is {IGNORED}, too; they are padding.": [1 / length] * number,
        "The sums are divided by the number of batches, expected the number of labels.": (
            [1 / number] * number
        ),
        "That is the sum over all labels, expected their mean.": [1.0] * number,
    }
    return {why: _weighted_gradient(weight, batches, each) for why, each in factors.items()}


@check_of(
    "one_batch_in_pieces.1",
    "The gradient of one large batch, whatever the lengths.",
    inputs=[
        ("for 2, 5 and 9 tokens", 1, (4, 3), torch.float64, (2, 5, 9), (0, 1, 3)),
        ("if one batch has no label", 2, (6, 5), torch.float32, (1, 7, 3, 4), (0, 2, 3, 1)),
    ],
)
def check_accumulated(answer, where, seed, shape, dtype, lengths, ignored):
    (start,) = random_tensors(seed, shape, dtype=dtype)
    batches = _batches(lengths, ignored, start)
    mistakes = _mistakes_of_divisors(start, batches)
    weight, passes = start.clone().requires_grad_(), []
    weight.register_hook(passes.append)
    found = call_answer(answer, weight, batches)
    count = sum(int((labels != IGNORED).sum()) for _, labels in batches)
    expected = _weighted_gradient(start, batches, [1 / count] * len(batches))
    expect_tensor(f"gradient {where}", found, expected.shape, "Return weight.grad.")
    with_labels = sum(bool((labels != IGNORED).any()) for _, labels in batches)
    one_each = with_labels <= len(passes) <= len(batches)
    if one_each and with_labels > 1 and same(found, passes[-1]):
        mistakes = {"Only the last batch is left: keep .grad between the batches.": found}
    expect_close(f"gradient {where}", found, expected, mistakes)
    if not one_each:
        raise Wrong(
            f"the gradient is right, but backward reached weight {len(passes)} times for "
            f"{len(batches)} batches. One backward for each batch frees its graph before the next "
            "one is built."
        )
