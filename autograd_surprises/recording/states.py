"""Which tensor is which, over time: a change in place gives a tensor a new state."""

import weakref

import torch


class TensorStates:
    """The states of tensors, as numbers; it holds no tensor.

    >>> known, x = TensorStates(), torch.ones(1)
    >>> known._state(x), known._next_state(x), known.states(x)
    (1, 2, [1, 2])
    """

    def __init__(self):
        self._states: dict[int, tuple[weakref.ref, int]] = {}  # by id(tensor), the latest one
        self._earlier: dict[int, int] = {}
        self._count = 0

    def states(self, tensor: torch.Tensor) -> list[int]:
        """The states of this very tensor that were seen, in order."""
        reference, state = self._states.get(id(tensor), (None, None))
        if reference is None or reference() is not tensor:
            return []
        states = [state]
        while states[-1] in self._earlier:
            states.append(self._earlier[states[-1]])
        return states[::-1]

    def alive(self) -> list[torch.Tensor]:
        """The tensors that were seen and still exist."""
        tensors = [reference() for reference, _ in list(self._states.values())]
        return [tensor for tensor in tensors if tensor is not None]

    def _state(self, tensor):
        reference, state = self._states.get(id(tensor), (None, None))
        if reference is None or reference() is not tensor:
            return self._new_state(tensor)
        return state

    def _new_state(self, tensor):
        self._count += 1
        self._states[id(tensor)] = weakref.ref(tensor), self._count
        return self._count

    def _next_state(self, tensor):
        earlier = self._state(tensor)
        self._earlier[self._new_state(tensor)] = earlier
        return self._count
