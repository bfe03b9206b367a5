"""Several inputs at once, where two of them tie, all are 0 or none is finite."""

from dataclasses import dataclass
from math import inf, nan

import torch

from autograd_surprises.atlas.elementwise_operations import evaluate


@dataclass(frozen=True)
class Tie:
    """A line of code in named inputs that gives one number, and the numbers to measure it at.

    >>> Tie("torch.maximum(a, b) at a = 1, b = 1").inputs
    {'a': 1, 'b': 1}
    """

    name: str

    @property
    def expression(self) -> str:
        return self.name.partition(" at ")[0]

    @property
    def inputs(self) -> dict[str, float | tuple[float, ...]]:
        return eval(f"dict({self.name.partition(' at ')[2]})", {"inf": inf, "nan": nan})

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
