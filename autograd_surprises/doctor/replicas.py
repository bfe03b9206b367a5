"""Do the processes that train together keep the same weights, where they began with the same?"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from weakref import ref

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from autograd_surprises.doctor.first_steps import fingerprints
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.recording.living import living
from autograd_surprises.several_processes import is_spread
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import DIVERGED, DIVERGED_BESIDE_WRAPPER, Apart

_count = itertools.count()  # of those that began to compare, the same in each process


class Replicas:
    """Fingerprints of the weights of the first optimizer: before its first step, after its second.

    Each process puts them into the store through which the processes have met, and rank 0 compares
    them as soon as all have. Nothing waits. A DTensor, of which each process may hold another part,
    is left out.

    >>> sgd = torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.1)
    >>> alone = Replicas()
    >>> alone.before(sgd); alone.after(sgd, {}) is None
    True
    """

    def __init__(self):
        self._optimizer, self._steps, self._key = None, 0, ""
        self._first: list[int | None] = []
        self._both: list[list[int | None]] | None = None  # until they are compared

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        if self._optimizer is None and _is_together():
            self._optimizer = ref(optimizer)
            self._key = f"autograd_surprises/{next(_count)}"
            self._first = fingerprints(_replicated(optimizer))

    def after(self, optimizer: Optimizer, names: Mapping[int, str]) -> Finding | None:
        """Its step() is done. `names` of parameters, by id."""
        if self._optimizer is None or self._optimizer() is not optimizer or not _is_together():
            return None
        self._steps += 1
        rank, size = dist.get_rank(), dist.get_world_size()
        store, held = dist.distributed_c10d._get_default_store(), _replicated(optimizer)
        if self._steps == 2:
            self._both = [self._first, fingerprints(held)]
            if rank:
                store.set(f"{self._key}/{rank}", json.dumps(self._both))
        often = self._steps < 16 or self._steps & (self._steps - 1) == 0
        keys = [f"{self._key}/{other}" for other in range(1, size)]
        if rank or self._both is None or not often or not store.check(keys):
            return None
        (first, last), self._both = self._both, None
        for other, key in enumerate(keys, 1):
            # Others that began with other weights are no replicas: stages of a pipeline, experts.
            there = json.loads(store.get(key))
            if there[0] == first and there[1] != last:
                pairs = zip(held, last, there[1], strict=True)
                apart = [names.get(id(p), "a parameter") for p, mine, its in pairs if mine != its]
                (wrapped,) = living(DistributedDataParallel)
                rule = DIVERGED_BESIDE_WRAPPER if wrapped else DIVERGED
                found = rule.finding(Apart(other))
                return found.about(listed(apart, most=3), "wrong")
        return None


def _is_together():
    return dist.is_available() and dist.is_initialized()


def _replicated(optimizer):
    return [p for p in parameters_of(optimizer) if not is_spread(p)]
