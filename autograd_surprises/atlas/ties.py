"""Several numbers at once: where two of them tie, or all of them are 0, or none is finite.

A tie is a line of code that gives one number, and the inputs at which to look. To add one, add a
line to TIES.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch

from autograd_surprises.atlas.operations import SPACES

inf, nan = float("inf"), float("nan")
ZEROS, ONES, NOTHING = (0.0, 0.0), (1.0, 1.0), (-inf, -inf)
TIES = (
    # two numbers
    ("torch.maximum(a, b)", {"a": 1, "b": 1}),
    ("torch.minimum(a, b)", {"a": 1, "b": 1}),
    ("torch.fmax(a, b)", {"a": 1, "b": 1}),
    ("torch.fmin(a, b)", {"a": 1, "b": 1}),
    ("torch.fmax(a, b)", {"a": 1, "b": nan}),
    ("torch.clamp(a, b, 2 * b)", {"a": 1, "b": 1}),
    ("torch.where(a > b, a, b)", {"a": 1, "b": 1}),
    ("torch.pow(a, b)", {"a": 0, "b": 0}),
    ("torch.pow(a, b)", {"a": 0, "b": 1}),
    ("torch.pow(a, b)", {"a": 0, "b": 2}),
    ("torch.pow(a, b)", {"a": 0, "b": 0.5}),
    ("torch.pow(a, b)", {"a": -1, "b": 2}),
    ("torch.float_power(a, b)", {"a": 0, "b": 0}),
    ("torch.atan2(a, b)", {"a": 0, "b": 0}),
    ("torch.atan2(a, b)", {"a": 0, "b": -1}),
    ("torch.hypot(a, b)", {"a": 0, "b": 0}),
    ("torch.sqrt(a * a + b * b)", {"a": 0, "b": 0}),
    ("torch.xlogy(a, b)", {"a": 0, "b": 0}),
    ("torch.xlogy(a, b)", {"a": 1, "b": 0}),
    ("special.xlog1py(a, b)", {"a": 0, "b": -1}),
    ("torch.copysign(a, b)", {"a": 1, "b": 0}),
    ("torch.copysign(a, b)", {"a": 0, "b": 1}),
    ("torch.div(a, b)", {"a": 0, "b": 0}),
    ("torch.div(a, b)", {"a": 1, "b": 0}),
    ("torch.fmod(a, b)", {"a": 1, "b": 1}),
    ("torch.remainder(a, b)", {"a": 1, "b": 1}),
    ("torch.logaddexp(a, b)", {"a": 0, "b": 0}),
    ("torch.logaddexp(a, b)", {"a": -inf, "b": -inf}),
    ("torch.logaddexp2(a, b)", {"a": -inf, "b": -inf}),
    ("torch.ldexp(a, b)", {"a": 0, "b": 0}),
    ("torch.lerp(a, b, 0.5)", {"a": -inf, "b": inf}),
    ("F.l1_loss(a, b)", {"a": 1, "b": 1}),
    ("F.smooth_l1_loss(a, b, beta=1)", {"a": 0, "b": 1}),
    ("F.huber_loss(a, b)", {"a": 0, "b": 1}),
    ("F.kl_div(a, b, reduction='sum')", {"a": 0, "b": 0}),
    ("F.binary_cross_entropy(a, b)", {"a": 1, "b": 1}),
    ("F.margin_ranking_loss(a, b, torch.ones_like(a))", {"a": 1, "b": 1}),
    # the largest, the middle, the sorted
    ("torch.max(x)", {"x": ONES}),
    ("torch.max(x, 0).values", {"x": ONES}),
    ("torch.amax(x, 0)", {"x": ONES}),
    ("torch.min(x)", {"x": ONES}),
    ("torch.min(x, 0).values", {"x": ONES}),
    ("torch.amin(x, 0)", {"x": ONES}),
    ("torch.aminmax(x).max", {"x": ONES}),
    ("torch.cummax(x, 0).values[-1]", {"x": ONES}),
    ("torch.cummin(x, 0).values[-1]", {"x": ONES}),
    ("torch.median(x)", {"x": (1, 1, 1)}),
    ("torch.nanmedian(x)", {"x": (1, 1, 1)}),
    ("torch.mode(x).values", {"x": (1, 1, 2)}),
    ("torch.quantile(x, 0.5)", {"x": ONES}),
    ("torch.kthvalue(x, 1).values", {"x": ONES}),
    ("torch.sort(x).values[0]", {"x": ONES}),
    ("torch.topk(x, 1).values[0]", {"x": ONES}),
    ("F.max_pool1d(x[None], 2)[0, 0]", {"x": ONES}),
    ("F.adaptive_max_pool1d(x[None], 1)[0, 0]", {"x": ONES}),
    ("torch.max(x)", {"x": (1, nan)}),
    ("torch.amax(x, 0)", {"x": (1, nan)}),
    ("F.max_pool1d(x[None], 2)[0, 0]", {"x": (1, nan)}),
    # lengths and distances
    ("torch.norm(x)", {"x": ZEROS}),
    ("torch.norm(x, p=1)", {"x": ZEROS}),
    ("torch.norm(x, p=3)", {"x": ZEROS}),
    ("torch.norm(x, p=0.5)", {"x": ZEROS}),
    ("torch.norm(x, p=inf)", {"x": ZEROS}),
    ("torch.norm(x, p=inf)", {"x": ONES}),
    ("torch.linalg.vector_norm(x)", {"x": ZEROS}),
    ("torch.linalg.norm(x[None], 'nuc')", {"x": ZEROS}),
    ("torch.dist(x[0], x[1])", {"x": ONES}),
    ("torch.cdist(x[:1, None], x[1:, None])[0, 0]", {"x": ONES}),
    ("F.pairwise_distance(x[:1], x[1:], eps=0.1)", {"x": ONES}),
    ("torch.cdist(x[:1, None], x[1:, None], p=1)[0, 0]", {"x": ONES}),
    ("F.lp_pool1d(x[None], 2, 2)[0, 0]", {"x": ZEROS}),
    ("F.pdist(x[:, None])[0]", {"x": ONES}),
    ("F.normalize(x, dim=0)[0]", {"x": ZEROS}),
    ("F.cosine_similarity(x, torch.ones_like(x), dim=0)", {"x": ZEROS}),
    ("F.rms_norm(x, (2,), eps=0.1)[0]", {"x": ZEROS}),
    ("F.layer_norm(x, (2,))[0]", {"x": ONES}),
    ("torch.renorm(x[None], 2, 0, 1)[0, 0]", {"x": ZEROS}),
    ("torch.renorm(x[None], 2, 0, 1)[0, 0]", {"x": (1, 0)}),
    # spreads, products and sums of exponentials
    ("torch.std(x)", {"x": ONES}),
    ("torch.var(x)", {"x": ONES}),
    ("torch.std(x)", {"x": (1,)}),
    ("torch.prod(x)", {"x": ZEROS}),
    ("torch.prod(x)", {"x": (0, 2)}),
    ("torch.cumprod(x, 0)[-1]", {"x": ZEROS}),
    ("torch.nansum(x)", {"x": (1, nan)}),
    ("torch.nanmean(x)", {"x": (1, nan)}),
    ("torch.logsumexp(x, 0)", {"x": NOTHING}),
    ("torch.logsumexp(x, 0)", {"x": (inf, 0)}),
    ("torch.logcumsumexp(x, 0)[-1]", {"x": NOTHING}),
    ("torch.softmax(x, 0)[0]", {"x": NOTHING}),
    ("torch.softmax(x, 0)[0]", {"x": (0, -inf)}),
    ("torch.log_softmax(x, 0)[0]", {"x": (0, -inf)}),
    ("torch.log_softmax(x, 0)[1]", {"x": (0, -inf)}),
    ("F.cross_entropy(x, torch.tensor(0))", {"x": (0, -inf)}),
    ("F.cross_entropy(x, torch.tensor(1))", {"x": (0, -inf)}),
    ("torch.linalg.det(x.view(2, 2))", {"x": (0, 0, 0, 0)}),
    ("torch.linalg.det(x.view(2, 2))", {"x": (1, 2, 2, 4)}),
    ("torch.linalg.svdvals(x.view(2, 2))[0]", {"x": (1, 0, 0, 1)}),
    ("torch.linalg.eigvalsh(x.view(2, 2))[0]", {"x": (1, 0, 0, 1)}),
)


@dataclass(frozen=True)
class Tie:
    """A line of code in named tensors that gives one number, and the inputs at which to look.

    >>> Tie("torch.maximum(a, b)", {"a": 1, "b": 1}).name
    'torch.maximum(a, b) at a = 1, b = 1'
    """

    call: str
    inputs: dict[str, float | tuple[float, ...]]

    @functools.cached_property
    def code(self):
        return compile(self.call, f"<{self.call}>", "eval")

    @property
    def name(self) -> str:
        """The line and where it is looked at."""
        return f"{self.call} at {', '.join(f'{k} = {_text(v)}' for k, v in self.inputs.items())}"

    @property
    def start(self) -> torch.Tensor:
        """All the inputs in one float64 tensor."""
        return torch.cat([torch.tensor(v).double().flatten() for v in self.inputs.values()])

    @property
    def labels(self) -> list[str]:
        """What each number of start is called: a and b, or x[0] and x[1]."""
        found = []
        for name, value in self.inputs.items():
            many = isinstance(value, tuple)
            found += [f"{name}[{i}]" for i in range(len(value))] if many else [name]
        return found

    def __call__(self, numbers: torch.Tensor) -> torch.Tensor:
        """The one number for these inputs, a tensor like start."""
        names, first = {**SPACES, "inf": inf}, 0
        for name, value in self.inputs.items():
            count = len(value) if isinstance(value, tuple) else 1
            part = numbers[first : first + count]
            names[name] = part if isinstance(value, tuple) else part[0]
            first += count
        return eval(self.code, names)


def ties() -> list[Tie]:
    """All of them.

    >>> ties()[0].call
    'torch.maximum(a, b)'
    """
    return [Tie(*each) for each in TIES]


def _text(value):
    if not isinstance(value, tuple):
        return f"{value:g}"
    return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
