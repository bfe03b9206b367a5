"""Right and wrong answers on several processes."""

import torch

RIGHT = {
    "20.1": {
        "the share first": lambda losses, everywhere, processes: (
            processes * (losses / everywhere).sum()
        ),
        "a mean where there are any": lambda losses, everywhere, processes: (
            losses.mean() * len(losses) * processes / everywhere if len(losses) else losses.sum()
        ),
        "a divisor": lambda losses, everywhere, processes: losses.sum() / (everywhere / processes),
    },
}

WRONG = {
    "20.1": {
        "the mean": (lambda losses, everywhere, processes: losses.mean(), "1 + 3 … mean of means"),
        "without the number of processes": (
            lambda losses, everywhere, processes: losses.sum() / everywhere,
            "2 + 2 … DDP divides by the number of processes once more",
        ),
        "the sum": (
            lambda losses, everywhere, processes: losses.sum(),
            "2 + 2 … divided by the number of processes",
        ),
        "divided by the processes": (
            lambda losses, everywhere, processes: losses.sum() / everywhere / processes,
            "into the product, not the divisor",
        ),
        "the mean, weighted by its share": (
            lambda losses, everywhere, processes: (
                losses.mean() * len(losses) * processes / everywhere
            ),
            "3 + 0 … yours nan … take the sum",
        ),
        "a vector": (
            lambda losses, everywhere, processes: losses * processes / everywhere,
            "yours has shape (2,) … Add up the losses",
        ),
        "a new zero for an empty share": (
            lambda losses, everywhere, processes: (
                losses.sum() * processes / everywhere
                if len(losses)
                else torch.zeros((), requires_grad=True)
            ),
            "3 + 0 … does not lead back to the weights … DDP in the other processes waits",
        ),
        "a number": (
            lambda losses, everywhere, processes: losses.sum().detach(),
            "has no history, so nothing is trained",
        ),
    },
}
