"""Several inputs at once, where two of them tie, all are 0 or none is finite.

To add a tie, add a line to TIES: an expression that gives one number, and its inputs.
"""

from dataclasses import dataclass

import torch

from autograd_surprises.atlas.elementwise_operations import evaluate


@dataclass(frozen=True)
class Tie:
    """A line of code in named inputs that gives one number, and the numbers to measure it at.

    >>> Tie("torch.maximum(a, b)", {"a": 1, "b": 1}).name
    'torch.maximum(a, b) at a = 1, b = 1'
    """

    expression: str
    inputs: dict[str, float | tuple[float, ...]]

    @property
    def name(self) -> str:
        """The line and its inputs."""
        inputs = [f"{name} = {_written(value)}" for name, value in self.inputs.items()]
        return f"{self.expression} at {', '.join(inputs)}"

    @property
    def start(self) -> torch.Tensor:
        """All the inputs in one float64 tensor."""
        return torch.cat([torch.tensor(v).double().flatten() for v in self.inputs.values()])

    @property
    def labels(self) -> list[str]:
        """What each number of start is called: a and b, or x[0] and x[1]."""
        labels = []
        for name, value in self.inputs.items():
            many = isinstance(value, tuple)
            labels += [f"{name}[{i}]" for i in range(len(value))] if many else [name]
        return labels

    def __call__(self, numbers: torch.Tensor) -> torch.Tensor:
        """The one number for these inputs, a tensor like start."""
        shapes = [torch.tensor(value).shape for value in self.inputs.values()]
        parts = numbers.split([shape.numel() for shape in shapes])
        inputs = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
        return evaluate(self.expression, **dict(zip(self.inputs, inputs, strict=True)))


def _written(value):
    if not isinstance(value, tuple):
        return f"{value:g}"
    return f"({', '.join(map(_written, value))}{',' * (len(value) == 1)})"


inf, nan = float("inf"), float("nan")
ZEROS, ONES, NOTHING = (0.0, 0.0), (1.0, 1.0), (-inf, -inf)
TIES = (
    # two numbers
    Tie("torch.maximum(a, b)", {"a": 1, "b": 1}),
    Tie("torch.minimum(a, b)", {"a": 1, "b": 1}),
    Tie("torch.fmax(a, b)", {"a": 1, "b": 1}),
    Tie("torch.fmin(a, b)", {"a": 1, "b": 1}),
    Tie("torch.fmax(a, b)", {"a": 1, "b": nan}),
    Tie("torch.clamp(a, b, 2 * b)", {"a": 1, "b": 1}),
    Tie("torch.where(a > b, a, b)", {"a": 1, "b": 1}),
    Tie("torch.pow(a, b)", {"a": 0, "b": 0}),
    Tie("torch.pow(a, b)", {"a": 0, "b": 1}),
    Tie("torch.pow(a, b)", {"a": 0, "b": 2}),
    Tie("torch.pow(a, b)", {"a": 0, "b": 0.5}),
    Tie("torch.pow(a, b)", {"a": -1, "b": 2}),
    Tie("torch.float_power(a, b)", {"a": 0, "b": 0}),
    Tie("torch.atan2(a, b)", {"a": 0, "b": 0}),
    Tie("torch.atan2(a, b)", {"a": 0, "b": -1}),
    Tie("torch.hypot(a, b)", {"a": 0, "b": 0}),
    Tie("torch.sqrt(a * a + b * b)", {"a": 0, "b": 0}),
    Tie("torch.xlogy(a, b)", {"a": 0, "b": 0}),
    Tie("torch.xlogy(a, b)", {"a": 1, "b": 0}),
    Tie("special.xlog1py(a, b)", {"a": 0, "b": -1}),
    Tie("torch.copysign(a, b)", {"a": 1, "b": 0}),
    Tie("torch.copysign(a, b)", {"a": 0, "b": 1}),
    Tie("torch.div(a, b)", {"a": 0, "b": 0}),
    Tie("torch.div(a, b)", {"a": 1, "b": 0}),
    Tie("torch.fmod(a, b)", {"a": 1, "b": 1}),
    Tie("torch.remainder(a, b)", {"a": 1, "b": 1}),
    Tie("torch.logaddexp(a, b)", {"a": 0, "b": 0}),
    Tie("torch.logaddexp(a, b)", {"a": -inf, "b": -inf}),
    Tie("torch.logaddexp2(a, b)", {"a": -inf, "b": -inf}),
    Tie("torch.ldexp(a, b)", {"a": 0, "b": 0}),
    Tie("torch.lerp(a, b, 0.5)", {"a": -inf, "b": inf}),
    Tie("F.l1_loss(a, b)", {"a": 1, "b": 1}),
    Tie("F.smooth_l1_loss(a, b, beta=1)", {"a": 0, "b": 1}),
    Tie("F.huber_loss(a, b)", {"a": 0, "b": 1}),
    Tie("F.kl_div(a, b, reduction='sum')", {"a": 0, "b": 0}),
    Tie("F.binary_cross_entropy(a, b)", {"a": 1, "b": 1}),
    Tie("F.margin_ranking_loss(a, b, torch.ones_like(a))", {"a": 1, "b": 1}),
    # the largest, the middle, the sorted
    Tie("torch.max(x)", {"x": ONES}),
    Tie("torch.max(x, 0).values", {"x": ONES}),
    Tie("torch.amax(x, 0)", {"x": ONES}),
    Tie("torch.min(x)", {"x": ONES}),
    Tie("torch.min(x, 0).values", {"x": ONES}),
    Tie("torch.amin(x, 0)", {"x": ONES}),
    Tie("torch.aminmax(x).max", {"x": ONES}),
    Tie("torch.cummax(x, 0).values[-1]", {"x": ONES}),
    Tie("torch.cummin(x, 0).values[-1]", {"x": ONES}),
    Tie("torch.median(x)", {"x": (1, 1, 1)}),
    Tie("torch.nanmedian(x)", {"x": (1, 1, 1)}),
    Tie("torch.mode(x).values", {"x": (1, 1, 2)}),
    Tie("torch.quantile(x, 0.5)", {"x": ONES}),
    Tie("torch.kthvalue(x, 1).values", {"x": ONES}),
    Tie("torch.sort(x).values[0]", {"x": ONES}),
    Tie("torch.topk(x, 1).values[0]", {"x": ONES}),
    Tie("F.max_pool1d(x[None], 2)[0, 0]", {"x": ONES}),
    Tie("F.adaptive_max_pool1d(x[None], 1)[0, 0]", {"x": ONES}),
    Tie("torch.max(x)", {"x": (1, nan)}),
    Tie("torch.amax(x, 0)", {"x": (1, nan)}),
    Tie("F.max_pool1d(x[None], 2)[0, 0]", {"x": (1, nan)}),
    # lengths and distances
    Tie("torch.norm(x)", {"x": ZEROS}),
    Tie("torch.norm(x, p=1)", {"x": ZEROS}),
    Tie("torch.norm(x, p=3)", {"x": ZEROS}),
    Tie("torch.norm(x, p=0.5)", {"x": ZEROS}),
    Tie("torch.norm(x, p=inf)", {"x": ZEROS}),
    Tie("torch.norm(x, p=inf)", {"x": ONES}),
    Tie("torch.linalg.vector_norm(x)", {"x": ZEROS}),
    Tie("torch.linalg.norm(x[None], 'nuc')", {"x": ZEROS}),
    Tie("torch.dist(x[0], x[1])", {"x": ONES}),
    Tie("torch.cdist(x[:1, None], x[1:, None])[0, 0]", {"x": ONES}),
    Tie("F.pairwise_distance(x[:1], x[1:], eps=0.1)", {"x": ONES}),
    Tie("torch.cdist(x[:1, None], x[1:, None], p=1)[0, 0]", {"x": ONES}),
    Tie("F.lp_pool1d(x[None], 2, 2)[0, 0]", {"x": ZEROS}),
    Tie("F.pdist(x[:, None])[0]", {"x": ONES}),
    Tie("F.normalize(x, dim=0)[0]", {"x": ZEROS}),
    Tie("F.cosine_similarity(x, torch.ones_like(x), dim=0)", {"x": ZEROS}),
    Tie("F.rms_norm(x, (2,), eps=0.1)[0]", {"x": ZEROS}),
    Tie("F.layer_norm(x, (2,))[0]", {"x": ONES}),
    Tie("torch.renorm(x[None], 2, 0, 1)[0, 0]", {"x": ZEROS}),
    Tie("torch.renorm(x[None], 2, 0, 1)[0, 0]", {"x": (1, 0)}),
    # spreads, products and sums of exponentials
    Tie("torch.std(x)", {"x": ONES}),
    Tie("torch.var(x)", {"x": ONES}),
    Tie("torch.std(x)", {"x": (1,)}),
    Tie("torch.prod(x)", {"x": ZEROS}),
    Tie("torch.prod(x)", {"x": (0, 2)}),
    Tie("torch.cumprod(x, 0)[-1]", {"x": ZEROS}),
    Tie("torch.nansum(x)", {"x": (1, nan)}),
    Tie("torch.nanmean(x)", {"x": (1, nan)}),
    Tie("torch.logsumexp(x, 0)", {"x": NOTHING}),
    Tie("torch.logsumexp(x, 0)", {"x": (inf, 0)}),
    Tie("torch.logcumsumexp(x, 0)[-1]", {"x": NOTHING}),
    Tie("torch.softmax(x, 0)[0]", {"x": NOTHING}),
    Tie("torch.softmax(x, 0)[0]", {"x": (0, -inf)}),
    Tie("torch.log_softmax(x, 0)[0]", {"x": (0, -inf)}),
    Tie("torch.log_softmax(x, 0)[1]", {"x": (0, -inf)}),
    Tie("F.cross_entropy(x, torch.tensor(0))", {"x": (0, -inf)}),
    Tie("F.cross_entropy(x, torch.tensor(1))", {"x": (0, -inf)}),
    Tie("torch.linalg.det(x.view(2, 2))", {"x": (0, 0, 0, 0)}),
    Tie("torch.linalg.det(x.view(2, 2))", {"x": (1, 2, 2, 4)}),
    Tie("torch.linalg.svdvals(x.view(2, 2))[0]", {"x": (1, 0, 0, 1)}),
    Tie("torch.linalg.eigvalsh(x.view(2, 2))[0]", {"x": (1, 0, 0, 1)}),
)
