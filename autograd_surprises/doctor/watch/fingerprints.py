"""Have the numbers of a tensor changed? A number for all of its bits, instead of a copy."""

from collections.abc import Sequence
from contextlib import suppress

import torch

from autograd_surprises.facts.processes import is_spread

BLOCK = 2**18  # elements that are read at a time
ODD = 6364136223846793005
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def fingerprints(tensors: Sequence[torch.Tensor]) -> list[int | None]:
    """A number of 64 bits for each tensor, computed from all of its bits; None if it has no bits.

    If one element changes, the number changes; if several do, it stays the same by a chance of
    about 1 in 2^64. This needs no copy of the tensors and no random numbers of torch's.

    >>> w = torch.zeros(3, dtype=torch.bfloat16)
    >>> before = fingerprints([w])
    >>> _ = w[1].add_(1e-30)
    >>> before == fingerprints([w])
    False
    """
    factors: dict[torch.device, torch.Tensor] = {}
    # No longer than needed: a small tensor is not to start threads, which hang in a forked process.
    length = min(BLOCK, max((2 * tensor.numel() for tensor in tensors), default=0))
    return [_fingerprint(tensor, factors, length) for tensor in tensors]


def _fingerprint(tensor, factors, length):
    tensor = tensor.to_local().detach() if is_spread(tensor) else tensor.detach()
    # The numbers of a subclass are elsewhere, perhaps in other processes.
    if tensor.is_meta or type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return None
    if tensor.device not in factors:
        own = torch.Generator("cpu").manual_seed(0)
        made = torch.randint(-(2**63), 2**63 - 1, (length,), generator=own, device="cpu") | 1
        factors[tensor.device] = made.to(tensor.device)
    with suppress(RuntimeError):  # a layout without a storage, or without a view of its bits
        if tensor.untyped_storage().nbytes() == 0 < tensor.numel():  # freed, as FSDP does
            return None
        plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        bits = plain.detach().view(INTEGERS[plain.element_size()]).flatten()
        total = 0
        for block in bits.split(BLOCK):
            total = total * ODD + (block.long() * factors[tensor.device][: len(block)]).sum()
        return int(total)
    return None
