"""The lines of the atlas that two torch versions share, and the node of the graph each makes."""

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.elementwise_operations import Operation, evaluate
from autograd_surprises.atlas.record import Atlas
from autograd_surprises.atlas.ties import TIES
from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import leaf_of

Numbers = float | tuple[float, ...]
X = {"x": (0.3,)}  # every operation accepts this number


@dataclass(frozen=True)
class LineInBoth:
    """A line of the atlas that was measured with both versions, and that this torch has, too.

    call    returns the result for its inputs
    inputs  {name: the numbers at which it was measured}; of an operation of x, one of many
    """

    before: Measured
    after: Measured
    call: Callable[..., torch.Tensor]
    inputs: Mapping[str, Numbers]

    def node(self, **numbers: Numbers) -> tuple[BackwardStep, dict[str, int]] | None:
        """Its last node, and the numbers of the inputs whose gradient leaves that node alone.

        None without a derivative.
        """
        given = {**self.inputs, **numbers}
        x = {
            name: torch.tensor(number, dtype=torch.float64, requires_grad=True)
            for name, number in given.items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.std of one number warns
            result = self.call(**x)
        if result.grad_fn is None:
            return None
        step = BackwardStep(result.grad_fn)
        leaves = [None if node is None else leaf_of(node) for node, _ in step.edges]
        direct = {name: [k for k, leaf in enumerate(leaves) if leaf is t] for name, t in x.items()}
        return step, {name: where[0] for name, where in direct.items() if len(where) == 1}


def lines_in_both(old: Atlas, new: Atlas) -> Iterator[LineInBoth]:
    """Operations of x, then ties; those that have a derivative in both versions.

    >>> from autograd_surprises.atlas.record import stored
    >>> line = next(lines_in_both(stored("2.13"), stored("2.15")))
    >>> list(line.inputs)
    ['x']
    """
    lines = [(old.operations, new.operations, name, Operation(name), X) for name in old.operations]
    lines += [
        (old.ties, new.ties, tie.name, functools.partial(evaluate, tie.expression), tie.inputs)
        for tie in TIES
    ]
    for earlier, later, name, call, inputs in lines:
        before, after = earlier.get(name), later.get(name)
        exists = not isinstance(call, Operation) or call.exists
        if before and after and exists and not (before.error or after.error):
            yield LineInBoth(before, after, call, inputs)
