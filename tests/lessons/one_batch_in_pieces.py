"""Right and wrong answers on a batch in pieces."""

import torch
import torch.nn.functional as F


def accumulated(loss_of):
    """loss_of(scores, labels, batches, k): the loss of batch k."""

    def accumulate(weight, batches):
        for k, (tokens, labels) in enumerate(batches):
            loss_of(tokens @ weight, labels, batches, k).backward()
        return weight.grad

    return accumulate


def sums(scores, labels):
    return F.cross_entropy(scores, labels, reduction="sum")


def counted(batches):
    return sum((labels != -100).sum() for _, labels in batches)


def right(scores, labels, batches, k):
    return sums(scores, labels) / counted(batches)


def all_at_once(weight, batches):
    tokens, labels = (torch.cat(each) for each in zip(*batches, strict=True))
    F.cross_entropy(tokens @ weight, labels).backward()
    return weight.grad


def cleared(weight, batches):
    for k, (tokens, labels) in enumerate(batches):
        weight.grad = None
        right(tokens @ weight, labels, batches, k).backward()
    return weight.grad


# ---- right ones, besides the folded solution


def accumulated_once(weight, batches):
    """Adds the losses up in .grad, and divides that at the end."""
    count = 0
    for tokens, labels in batches:
        F.cross_entropy(tokens @ weight, labels, reduction="sum").backward()
        count += (labels != -100).sum()
    weight.grad /= count
    return weight.grad


def without_padding(weight, batches):
    """Skips what has no label at all."""
    return accumulated(right)(weight, [each for each in batches if (each[1] != -100).any()])


RIGHT = {
    "one_batch_in_pieces.1": {
        "divided at the end": accumulated_once,
        "without padding": without_padding,
    }
}

WRONG = {
    "one_batch_in_pieces.1": {
        "as most loops do": (
            accumulated(lambda s, y, b, k: F.cross_entropy(s, y) / len(b)),
            "for 2, 5 and 9 tokens … Each batch counts the same",
        ),
        "means added up": (
            accumulated(lambda s, y, b, k: F.cross_entropy(s, y)),
            "nothing divides them",
        ),
        "padding counts": (
            accumulated(lambda s, y, b, k: sums(s, y) / sum(len(labels) for _, labels in b)),
            "count tokens whose label is -100",
        ),
        "sums by batches": (
            accumulated(lambda s, y, b, k: sums(s, y) / len(b)),
            "The sums are divided by the number of batches",
        ),
        "sums": (accumulated(lambda s, y, b, k: sums(s, y)), "That is the sum over all labels"),
        "all at once": (all_at_once, "backward reached weight 1 times for 3 batches"),
        "cleared in the loop": (cleared, "Only the last batch is left"),
    }
}
