"""What a recorder knows of tensors over time, and which of its calls are still needed.

A change in place gives a tensor a new state. Without forgetting, a long training loop fills memory.
"""

import bisect
import weakref
from collections.abc import Collection, Iterable, Sequence

import torch

from autograd_surprises.facts.graph import leaf_of, reachable
from autograd_surprises.recording.forward_calls import BACKWARDS, ForwardCall


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


def living_nodes(tensors: Iterable[torch.Tensor]) -> list[int]:
    """The numbers of the graph nodes behind these tensors, sorted.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = x * 2
    >>> living_nodes([y]) == [y.grad_fn._sequence_nr()]
    True
    """
    with torch._C.DisableTorchFunction():
        roots = [tensor.grad_fn for tensor in tensors]
    return sorted(node._sequence_nr() for node in reachable(roots) if leaf_of(node) is None)


def needed(
    calls: Sequence[ForwardCall], states: Collection[int], nodes: Sequence[int], since: int
) -> list[ForwardCall]:
    """The calls that made these states or nodes, or from position `since` on, led to them.

    From there on, one call of each line is kept, too: what became of a tensor's numbers. A
    backward is kept beside the graph that it freed, and before an update that is kept.
    """
    wanted, kept, lines = set(states), [], set()
    for position in range(len(calls) - 1, -1, -1):
        call = calls[position]
        first = call.first - 1 if call.function else call.first  # see History.call_of
        k = bisect.bisect_left(nodes, first)
        lives = k < len(nodes) and nodes[k] < max(call.last, first + bool(call.function))
        if lives or not wanted.isdisjoint(call.outputs):
            if position >= since:
                wanted.update(call.inputs)
        elif call.name not in BACKWARDS:
            line = call.line, call.name
            if position < since or line in lines:
                continue
            lines.add(line)
        kept.append(call)
    made = {state for call in kept for state in call.outputs}
    found, backward = [], []
    for call in reversed(kept):
        if call.name in BACKWARDS and made.isdisjoint(call.inputs):
            backward = [call]
            continue
        if call.is_unrecorded_write:
            found += backward
            backward = []
        found.append(call)
    return found
