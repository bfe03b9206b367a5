"""Do the processes that train together keep the same weights, where they began with the same?"""

from collections.abc import Mapping, Sequence
from weakref import ref

from torch.optim import Optimizer

from autograd_surprises.doctor.first_steps import fingerprints
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.several_processes import is_spread

Weights = Mapping[str, Sequence[int]]  # {name: its fingerprints before the first step, and after}


class Replicas:
    """Fingerprints of the weights of the first optimizer: before its first step, after its second.

    A DTensor, of which each process may hold another part, is left out.

    weights  {name or number of a weight: both fingerprints, or the first one so far}

    >>> layer = torch.nn.Linear(2, 1)
    >>> sgd, replicas = torch.optim.SGD(layer.parameters(), lr=0.1), Replicas()
    >>> for _ in range(2):
    ...     layer(torch.ones(2)).sum().backward(); replicas.before(sgd)
    ...     sgd.step(); replicas.after(sgd, {})
    >>> [len(set(both)) for both in replicas.weights.values()]
    [2, 2]
    """

    def __init__(self):
        self.weights: dict[str, list[int]] = {}
        self._optimizer, self._steps = None, 0

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        if self._optimizer is None:
            self._optimizer = ref(optimizer)
            self._first = fingerprints(_replicated(optimizer))

    def after(self, optimizer: Optimizer, names: Mapping[int, str]) -> None:
        """Its step() is done. `names` of parameters, by id."""
        if self._optimizer is None or self._optimizer() is not optimizer or self._steps == 2:
            return
        self._steps += 1
        held = _replicated(optimizer)
        if self._steps == 2 and len(held) == len(self._first):
            both = zip(held, self._first, fingerprints(held), strict=True)
            self.weights = {
                names.get(id(p), f"parameter {i}"): [first, last]
                for i, (p, first, last) in enumerate(both)
                if first is not None and last is not None
            }


def _replicated(optimizer):
    return [p for p in parameters_of(optimizer) if not is_spread(p)]


def diverged(mine: Weights, others: Weights) -> list[str]:
    """The names of the weights that were the same in both processes, and are not any more.

    >>> diverged({"w": [1, 5], "b": [2, 6]}, {"w": [1, 7], "b": [3, 8]})
    ['w']
    """
    return [
        name
        for name, (first, last) in mine.items()
        if name in others and others[name][0] == first and others[name][1] != last
    ]
