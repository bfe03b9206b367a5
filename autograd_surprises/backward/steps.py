"""What backward did at one node of the graph, and the gradient of one tensor, in numbers.

All gradients of a large model at once take as much memory as the model, so each is measured when
it arrives, and released.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from autograd_surprises.facts.graph import Edge, Node, kind_of, leaf_of, name_of, readable
from autograd_surprises.recording.places import Where, owner

CORNER = 32  # elements along each dimension


@dataclass(frozen=True)
class GradientSize:
    """How large a gradient is: elements, those that are not 0, sum of |g|, inf and NaN."""

    total: int
    nonzero: int
    l1: float
    inf: int = 0
    nan: int = 0

    @property
    def finite(self) -> bool:
        return not (self.inf or self.nan)

    @property
    def bad(self) -> str:
        counts = ((self.inf, "inf"), (self.nan, "NaN"))
        return " and ".join(f"{count} {name}" for count, name in counts if count)

    def __str__(self):
        return f"{self.nonzero}/{self.total}" + (f" ({self.bad})" if self.bad else "")

    def in_words(self) -> str:
        return f"{self.nonzero} of {self.total}" + (f" ({self.bad})" if self.bad else "")


@dataclass(eq=False)
class BackwardStep:
    """A node of the graph and what backward did there."""

    node: Node
    name: str = field(init=False)
    # (node, number of its output) that each leaving gradient goes to.
    edges: tuple[Edge, ...] = field(init=False)
    order: int | None = None  # when it ran: 0 is the first, None: it never ran
    # Sizes, one for each output of the operation; None where there was no gradient.
    arriving: list[GradientSize | None] = field(default_factory=list)
    leaving: list[GradientSize | None] = field(default_factory=list)  # sizes, one for each edge
    # Elements that arrived and left as exactly 0, if they can be compared one by one.
    stopped: int = 0
    # The gradient that arrived, where it died or lost its finiteness.
    sample: torch.Tensor | None = None
    # (position, gradient that arrived there) of the first element that is not finite.
    spoiled: tuple[tuple, float | None] | None = None
    masked: bool = False  # wherever an element is not finite, a gradient of exactly 0 arrived
    # Did backward write into the gradient that it got, whose versions were these?
    changed: bool = False
    versions: list = field(default_factory=list)
    # Copies of what arrived and left, in a backward that keeps them.
    gradients_in: list[torch.Tensor | None] = field(default_factory=list)
    gradients_out: list[torch.Tensor | None] = field(default_factory=list)
    # Would another gradient get through? None if that was not tried.
    lets_through: bool | None = None
    # The function of torch that made the node, where the forward pass was recorded.
    called: str = ""
    where: Where | None = None  # the line that called it

    def __post_init__(self):
        self.name, self.edges = name_of(self.node), self.node.next_functions

    @property
    def leaf(self) -> torch.Tensor | None:
        """The leaf whose .grad this node fills; None for an operation."""
        return leaf_of(self.node)

    @cached_property
    def kind(self) -> str:
        """The name without Backward and number: Mul for MulBackward0."""
        return kind_of(self.name)

    @property
    def operation(self) -> str:
        """The kind as it is written in Python: log_softmax."""
        return readable(self.kind)

    @cached_property
    def own(self) -> type | None:
        """The class of a torch.autograd.Function written in Python."""
        return getattr(self.node, "_forward_cls", None)

    @property
    def own_name(self) -> str:
        return self.own.__name__

    @property
    def is_users(self) -> bool:
        """Is it a Function that the user, not torch, wrote?"""
        return self.own is not None and not self.own.__module__.startswith("torch.")

    @property
    def whose(self) -> str:
        """Whose Function it is, in words."""
        code = getattr(getattr(self.own, "backward", None), "__code__", None)
        return "your own" if code is None or owner(code) == "user" else "a library's"

    @property
    def in_library(self) -> bool:
        """Was it called by a line of an installed library?"""
        return self.where is not None and self.where.inside is not None

    @property
    def is_reentrant_checkpoint(self) -> bool:
        """Does it hide a part of the graph, and refuse torch.autograd.grad?"""
        return self.own is not None and self.own_name == "CheckpointFunction"

    @cached_property  # reading may recompute a checkpoint; forget() frees the memory
    def saved(self) -> dict[str, object]:
        """What the node saved in the forward pass, as far as torch shows it; tensors made dense."""
        kept = {}
        for name in dir(self.node):
            if name.startswith("_saved_"):
                try:
                    value = getattr(self.node, name)
                except Exception:  # freed, or a hook of the user raised an error
                    continue
                if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
                    value = numbers_of(value)
                elif isinstance(value, int) and value >= 2**63:  # torch shows -1 as 2**64 - 1
                    value -= 2**64
                kept[name.removeprefix("_saved_")] = value
        return kept

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors among what it keeps that have elements."""
        kept = self.saved.items()
        return {k: v for k, v in kept if isinstance(v, torch.Tensor) and v.numel()}

    def kept_finite(self) -> bool:
        return all(bool(value.isfinite().all()) for value in self.tensors().values())

    def forget(self) -> None:
        self.__dict__.pop("saved", None)
        self.sample, self.gradients_in, self.gradients_out = None, [], []


# Healthy contributions of these steps with a bad sum; if it is one step, a hook changed it.
GradientSum = tuple[BackwardStep, ...]


def numbers_of(tensor: torch.Tensor) -> torch.Tensor:
    """The stored numbers of a tensor of any layout, without history."""
    tensor = tensor.detach()
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
    return tensor if tensor.layout is torch.strided else tensor.values()


def parts_of(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The elements in the order of memory, in parts whose temporaries stay in the cache.

    A temporary as large as the logits of a language model takes longer to allocate than to fill.

    >>> [len(part) for part in parts_of(torch.ones(600, 500).t())]
    [131072, 131072, 37856]
    """
    most = 2**17 if tensor.is_cpu else 2**24  # up to which float32 counts exactly
    if tensor.numel() <= most and tensor.is_contiguous():
        return (tensor,)
    dims = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim))
    return tensor.permute(dims).reshape(-1).split(most)


def size_of(gradient: torch.Tensor) -> GradientSize:
    """The size of one gradient.

    >>> str(size_of(torch.tensor([0.0, 2.0]))), str(size_of(torch.tensor([0.0, torch.nan])))
    ('1/2', '1/2 (1 NaN)')
    """
    gradient = numbers_of(gradient)
    if not gradient.numel():
        return GradientSize(0, 0, 0.0)
    wide = torch.float32 if gradient.dtype in (torch.float16, torch.bfloat16) else None
    l1, nonzero = 0.0, 0
    for part in parts_of(gradient):  # vector_norm(gradient, 1) and count_nonzero are not vectorised
        sizes = part.abs()
        l1 += float(sizes.sum(dtype=wide))
        few = part.numel() < 5000  # then a call takes longer than what it does
        nonzero += int(sizes.count_nonzero() if few else sizes.ne_(0).sum(dtype=wide))
    size = GradientSize(gradient.numel(), nonzero, l1)
    if math.isfinite(l1):
        return size
    return replace(size, inf=int(gradient.isinf().sum()), nan=int(gradient.isnan().sum()))


def memory(tensor: torch.Tensor) -> tuple[int, int]:
    """Where its numbers lie, and how many there are: the same only for a view of all of them.

    >>> x = torch.ones(2)
    >>> memory(x) == memory(x.detach()), memory(x) == memory(x.clone())
    (True, False)
    """
    try:
        pointer = tensor.data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without storage
        pointer = 0
    return (pointer or -id(tensor)), tensor.numel()


@dataclass(frozen=True)
class Arrived:
    """The gradient of one tensor in numbers."""

    size: GradientSize  # of the gradient
    # Where a part of it is 0; None if no part is, or all of it, or if it is sparse.
    zeros: torch.Tensor | None = None
    # How often .grad holds this very gradient, if it does so 2 to 100 times.
    times_in_grad: int | None = None


def arrived_at(
    gradient: torch.Tensor, size: GradientSize, old: torch.Tensor | None = None
) -> Arrived:
    """What is kept of a gradient; `old` is the .grad of its tensor.

    >>> arrived_at(torch.tensor([0.0, 1.0, 2.0]), GradientSize(3, 2, 3.0)).zeros
    tensor([ True, False, False])
    """
    if gradient.layout is not torch.strided or not size.finite:
        return Arrived(size)
    gradient = gradient.detach()
    zeros = gradient == 0 if 0 < size.nonzero < size.total else None
    dense = old is not None and old.layout is torch.strided
    return Arrived(size, zeros, _times_in(old, gradient) if dense else None)


def _times_in(old, gradient):
    """How many times backward() has added this gradient to .grad, from 2 to 100; else None."""
    corner = (slice(CORNER),) * gradient.dim()  # nearly always decides
    times = _times(old[corner], gradient[corner])
    if times is not None and max(gradient.shape, default=0) > CORNER:
        times = _times(old, gradient)
    return times or None


def _times(old, gradient):
    """The number that old / gradient is everywhere; None if there is none, 0 without elements."""
    nonzero = gradient != 0
    ratio = old[nonzero] / gradient[nonzero]
    if not ratio.numel():
        return 0
    if ratio.is_complex() or not bool(ratio.isfinite().all()):
        return None
    times = round(ratio.median().item())  # a scaled loss gives far more
    same = 2 <= times <= 100 and torch.allclose(ratio, torch.full_like(ratio, times), 1e-3)
    return times if same else None
