"""How much memory an autograd graph keeps alive in the tensors that it saved for backward."""

from __future__ import annotations

from weakref import WeakSet

import torch

_open = []  # all blocks, because torch calls only the hooks of the innermost one


class _Kept:
    def __init__(self, tensor):
        self.tensor = tensor.detach()  # the tensor itself may keep alive the graph that keeps it
        self.version = tensor._version
        for saved in _open:
            saved._kept.add(self)

    def unpack(self):
        if (now := self.tensor._version) != self.version:  # with hooks, torch does not check
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: [{self.tensor.type()} {list(self.tensor.shape)}] is at "
                f"version {now}; expected version {self.version} instead"
            )
        return self.tensor


class saved_tensors(torch.autograd.graph.saved_tensors_hooks):
    """The bytes that the graph built inside keeps alive for backward, measured at any later time.

    Each storage counts once and as a whole, however many tensors share it; inputs and weights
    count, too. Gradients and errors stay the same, but torch.func.grad raises RuntimeError inside.
    Not counted: attributes of ctx, and what other hooks inside keep, such as save_on_cpu. Source:
    https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html

    >>> with saved_tensors() as saved:
    ...     y = torch.ones(1000, requires_grad=True).exp().sum()
    >>> saved.bytes, y.backward(), saved.bytes
    (4000, None, 0)
    """

    def __init__(self):
        super().__init__(_Kept, _Kept.unpack)
        self._kept = WeakSet()  # so that only the graph keeps them alive

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
