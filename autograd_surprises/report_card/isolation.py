"""Isolates each check; restores torch's state."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from autograd_surprises.numerics import one_thread


@contextmanager
def isolated(device: torch.device) -> Iterator[None]:
    """Gradients on, autocast off, one thread, seed 0, no warnings, no log.

    All of it is restored afterwards, and the default dtype; after an error, too.

    >>> with torch.no_grad(), isolated(torch.device("cpu")):
    ...     torch.is_grad_enabled()
    True
    """
    dtype = torch.get_default_dtype()
    logged = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the compiler logs what the card says itself
    # torch 2.13 writes this one past Python, to the terminal
    torch._C._functorch._set_vmap_fallback_warning_enabled(False)
    devices = [device] if device.type == "cuda" else []
    try:
        with (
            warnings.catch_warnings(),
            torch.random.fork_rng(devices),
            torch.inference_mode(False),  # which turns gradients on, too
            torch.autocast(device.type, enabled=False),
            one_thread(),
        ):
            warnings.simplefilter("ignore")
            # torch.manual_seed would also seed other devices, and nothing would restore those
            (torch.manual_seed if devices else torch.default_generator.manual_seed)(0)
            yield
    finally:
        torch._C._functorch._set_vmap_fallback_warning_enabled(True)
        logging.disable(logged)
        torch.set_default_dtype(dtype)
