"""The norms of the gradients of an optimizer: cheap enough for every step."""

import math
from collections.abc import Sequence
from statistics import median

import torch

from autograd_surprises.facts.processes import is_spread

USUAL, EXPLODED = 20, 1000.0  # norms that are known before one can be too large; how much is that


def norms(parameters: Sequence[torch.Tensor]) -> list[float | None]:
    """The norm of the gradient of each parameter; None where there is none.

    Of a DTensor, that of the part in this process.

    >>> w, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> torch.dot(w, torch.tensor([3.0, 4.0])).backward()
    >>> norms([w, b])
    [5.0, None]
    """
    found: list[float | None] = [None] * len(parameters)
    groups: dict[tuple, dict[int, torch.Tensor]] = {}
    for i, parameter in enumerate(parameters):
        if parameter.grad is None:
            continue
        gradient = parameter.grad
        if is_spread(gradient):
            gradient = gradient.to_local()
        if gradient.layout is torch.sparse_coo:
            gradient = gradient._values()
        if gradient.numel() == 0:
            found[i] = 1.0  # nothing that could be missing
        else:
            groups.setdefault((gradient.device, gradient.dtype), {})[i] = gradient
    for (_, dtype), gradients in groups.items():
        half = dtype in (torch.float16, torch.bfloat16)
        norms = torch._foreach_norm(
            list(gradients.values()), 2, dtype=torch.float32 if half else None
        )
        for i, norm in zip(gradients, torch.stack(norms).tolist(), strict=True):  # one wait
            squares_fit = norm and math.isfinite(norm)
            found[i] = norm if squares_fit else float(gradients[i].abs().max())
    return found


class GradientNorms:
    """The norms of the gradients of one optimizer from step to step, and what turned bad."""

    def __init__(self):
        self._alive: set[int] = set()
        self._dead: dict[int, int] = {}  # since so many steps
        self._intermittent: set[int] = set()  # that come and go: an expert without a token
        self._usual: list[float] = []
        self._exploded = False

    def died(self, now: Sequence[float | None], later: int) -> dict[int, int]:
        """Which gradients were always there before, and are missing or zero since so many steps?

        They are told after one step, and after `later` ones.

        >>> seen = GradientNorms()
        >>> [seen.died([1.0, norm], later=2) for norm in (2.0, 0.0, 0.0, 0.0, 3.0, 0.0)]
        [{}, {1: 1}, {1: 2}, {}, {}, {}]
        """
        alive = {i for i, norm in enumerate(now) if norm}
        died = self._alive - alive
        gone = died - self._intermittent
        self._intermittent |= self._dead.keys() & alive
        self._dead = {i: steps + 1 for i, steps in self._dead.items() if i not in alive}
        self._dead |= dict.fromkeys(died, 1)
        self._alive = alive
        found = dict.fromkeys(sorted(gone), 1)
        return found | {i: later for i, steps in sorted(self._dead.items()) if steps == later}

    def exploded(self, now: Sequence[float | None]) -> float:
        """How many times the usual norm they are together, if that is new and far too much; or 0.

        >>> seen = GradientNorms()
        >>> [seen.exploded([norm]) for norm in [1.0] * 20 + [5000.0]][-1]
        5000.0
        """
        total = sum(norm for norm in now if norm)
        if not total or not math.isfinite(total):
            return 0.0
        usual = median(self._usual) if len(self._usual) >= USUAL else math.inf
        times, before = total / usual, self._exploded
        self._exploded = times > EXPLODED
        if not self._exploded:
            self._usual = [*self._usual[-2 * USUAL :], total]
        return times if self._exploded and not before else 0.0
