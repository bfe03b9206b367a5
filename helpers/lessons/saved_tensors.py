"""The memory that an autograd graph keeps alive: the tensors that forward saved for backward."""

from __future__ import annotations

from weakref import WeakSet

import torch

_open = []  # torch calls the innermost hooks only, so these report to every block around them


class _Kept:
    def __init__(self, tensor):
        self.tensor = tensor.detach()  # the tensor itself may hold the graph that will hold it
        self.version = tensor._version
        for saved in _open:
            saved._kept.add(self)

    def unpack(self):
        if (now := self.tensor._version) != self.version:  # torch looks only without hooks
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: [{self.tensor.type()} {list(self.tensor.shape)}] is at "
                f"version {now}; expected version {self.version} instead"
            )
        return self.tensor


class saved_tensors(torch.autograd.graph.saved_tensors_hooks):
    """Measure, at any later time, the bytes that the graph built inside keeps alive for backward.

    Each storage counts once and whole, however many tensors share it; inputs and weights count,
    too. Gradients and errors stay as they were, but torch.func.grad raises RuntimeError inside.
    Not seen: attributes of ctx, and what other hooks inside, like save_on_cpu, keep. Source:
    https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html

    >>> with saved_tensors() as saved:
    ...     y = torch.ones(1000, requires_grad=True).exp().sum()
    >>> saved.bytes, y.backward(), saved.bytes
    (4000, None, 0)
    """

    def __init__(self):
        super().__init__(_Kept, _Kept.unpack)
        self._kept = WeakSet()  # weak: only the graph keeps them alive

    def __enter__(self) -> saved_tensors:
        super().__enter__()
        _open.append(self)
        return self

    def __exit__(self, *error):
        _open.remove(self)
        super().__exit__(*error)

    @property
    def bytes(self) -> int:
        """Bytes that the graph keeps alive now; 0 once backward or `del` has freed it."""
        storages = [kept.tensor.untyped_storage() for kept in self._kept]
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
