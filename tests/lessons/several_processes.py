"""Right and wrong answers on several processes."""

import torch

RIGHT = {
    "several_processes.1": {
        "a mean where there are any": lambda losses, everywhere, processes: (
            losses.mean() * len(losses) * processes / everywhere if len(losses) else losses.sum()
        )
    }
}

WRONG = {
    "several_processes.1": {
        "the mean": (
            lambda losses, everywhere, processes: losses.mean(),
            "1 + 2 + 5 … mean of means",
        ),
        "without the number of processes": (
            lambda losses, everywhere, processes: losses.sum() / everywhere,
            "1 + 2 + 5 … DDP divides by the number of processes once more",
        ),
        "the sum": (
            lambda losses, everywhere, processes: losses.sum(),
            "1 + 2 + 5 … divided by the number of processes",
        ),
        "the mean, weighted by its share": (
            lambda losses, everywhere, processes: (
                losses.mean() * len(losses) * processes / everywhere
            ),
            "3 + 0 … yours nan … take the sum",
        ),
        "a vector": (
            lambda losses, everywhere, processes: losses * processes / everywhere,
            "yours has shape (1,) … Add up the losses",
        ),
        "a new zero for an empty share": (
            lambda losses, everywhere, processes: (
                losses.sum() * processes / everywhere
                if len(losses)
                else torch.zeros((), requires_grad=True)
            ),
            "3 + 0 … does not lead back to the weights … DDP in the other processes waits",
        ),
    }
}
