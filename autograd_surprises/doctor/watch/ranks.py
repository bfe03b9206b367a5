"""Processes that train together: do their weights part?"""

import itertools
import json
from weakref import ref

import torch.distributed as dist

from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.doctor.watch.fingerprints import fingerprints
from autograd_surprises.doctor.watch.witness import Step, Told, Witness
from autograd_surprises.facts.processes import is_spread, is_together
from autograd_surprises.symptoms.loops import diverged

_count = itertools.count()  # of those that began to compare weights, the same in each process


class Ranks(Witness):
    """Sees processes whose weights were the same, and differ after two steps.

    What proves it: fingerprints of the weights of the first optimizer, before its first step and
    after its second. Each process puts them into the store through which the processes have met,
    and rank 0 compares them once all have. Nothing waits. It cannot see DTensors, of which each
    process may hold another part.

    >>> step, ranks = Step(), Ranks()
    >>> with step.made_by(torch.optim.SGD(torch.nn.Linear(2, 1).parameters())):
    ...     ranks.before_step(step); list(ranks.after_step(step))
    []
    """

    def __init__(self):
        self._optimizer = lambda: None
        self._steps, self._key, self._seen = 0, "", []

    def before_step(self, step: Step):
        if step.processes[1] > 1 and not self._key and is_together():
            self._optimizer, self._key = ref(step.optimizer), f"autograd_surprises/{next(_count)}"
            self._seen = [fingerprints(_replicated(step.optimizer))]

    def after_step(self, step: Step):
        if self._optimizer() is not step.optimizer or not is_together():
            return
        self._steps += 1
        rank, size = dist.get_rank(), dist.get_world_size()
        store, held = dist.distributed_c10d._get_default_store(), _replicated(step.optimizer)
        if self._steps == 2:
            self._seen.append(fingerprints(held))
            if rank:
                store.set(f"{self._key}/{rank}", json.dumps(self._seen))
        keys = [f"{self._key}/{other}" for other in range(1, size)]
        rarely = self._steps & (self._steps - 1) == 0  # 2, 4, 8, and so on
        if rank or len(self._seen) < 2 or not rarely or not store.check(keys):
            return
        (first, last), self._seen = self._seen, []
        for other, key in enumerate(keys, 1):
            # Others that began with other weights are no replicas: stages of a pipeline, experts.
            there = json.loads(store.get(key))
            if there[0] == first and there[1] != last:
                pairs = zip(held, last, there[1], strict=True)
                apart = [parameter for parameter, mine, its in pairs if mine != its]
                found = diverged(other, apart, step.names)
                yield Told("the processes have different weights", [found])
                return


def _replicated(optimizer):
    return [p for p in parameters_of(optimizer) if not is_spread(p)]
