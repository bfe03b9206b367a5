"""How many elements of the weights in 16 bits move: small updates are rounded away."""

from typing import NamedTuple

import torch
from torch.optim import Optimizer

from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.several_processes import is_spread
from autograd_surprises.symptoms.untrained import FewMoved

STEPS, SAMPLE = 16, 4096  # until it is judged; elements of each weight
FEWEST = 32  # elements with a gradient, to say anything
MOVED = 0.1  # a smaller share is an alarm


class _Weight(NamedTuple):
    """A sample of a weight: as it was at first, and which elements have had a gradient."""

    first: torch.Tensor
    touched: torch.Tensor


class RoundedUpdates:
    """Which elements of its weights in float16 or bfloat16 an optimizer of torch's moves.

    steps  how many were seen, since no learning rate has risen
    over   is all decided?

    Other optimizers may round at random, or keep what was lost for a later step.

    >>> w = torch.ones(64, dtype=torch.bfloat16, requires_grad=True)
    >>> sgd, updates = torch.optim.SGD([w], lr=1e-4), RoundedUpdates()
    >>> for _ in range(STEPS):
    ...     w.sum().backward(); updates.before(sgd); sgd.step(); judged = updates.after(sgd)
    >>> [facts.share for _, facts in updates.few_moved(sgd)]
    [0.0]
    """

    def __init__(self):
        self.steps, self.over = 0, False
        self._weights: dict[int, _Weight] = {}
        self._rates: dict[int, float] = {}

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        if self.over:
            return
        if not type(optimizer).__module__.startswith("torch.optim"):
            self.over = True
            return
        for parameter in filter(_can_round, parameters_of(optimizer)):
            known = self._weights.get(id(parameter))
            if known is None:
                first = sample(parameter).clone()
                known = self._weights[id(parameter)] = _Weight(first, torch.zeros_like(first) != 0)
            known.touched.logical_or_(sample(parameter.grad) != 0)

    def after(self, optimizer: Optimizer) -> bool:
        """Its step() is done: is it one of those at which to judge?

        While a learning rate rises, everything begins anew.
        """
        if self.over:
            return False
        rates = {id(p): float(g["lr"]) for g in optimizer.param_groups for p in g["params"]}
        self.steps += 1
        if any(rate > self._rates.get(i, rate) for i, rate in rates.items()):
            self.steps, self._weights = 0, {}
        self._rates = rates
        self.over = self.steps == STEPS or (self.steps >= 2 and not self._weights)
        return bool(self._weights) and self.steps in (2, 4, 8, STEPS)

    def few_moved(self, optimizer: Optimizer) -> list[tuple[torch.Tensor, FewMoved]]:
        """The weights of which few elements have moved, though they have a gradient."""
        shares = {}
        for parameter in parameters_of(optimizer):
            known, rate = self._weights.get(id(parameter)), self._rates.get(id(parameter))
            if known is not None and rate and int(known.touched.sum()) >= FEWEST:
                moved = (sample(parameter) != known.first)[known.touched]
                shares[parameter] = float(moved.float().mean())
        few = {parameter: share for parameter, share in shares.items() if share < MOVED}
        return [
            (p, FewMoved(self.steps, self._rates[id(p)], p.dtype, max(few.values()))) for p in few
        ]


def _can_round(parameter):
    half = parameter.dtype in (torch.float16, torch.bfloat16)
    gradient = parameter.grad if half and not is_spread(parameter) else None
    return gradient is not None and gradient.layout is torch.strided and not parameter.is_meta


def sample(tensor: torch.Tensor) -> torch.Tensor:
    """Elements spread over a tensor, at most SAMPLE of them.

    >>> len(sample(torch.ones(100, 100)))
    3334
    """
    return tensor.detach().flatten()[:: 1 + tensor.numel() // SAMPLE]
