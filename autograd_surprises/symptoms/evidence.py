"""The gradient of one tensor: what the searches of the symptoms ask about it, each thing once."""

from collections.abc import Iterable, Iterator
from functools import cached_property

import torch

from autograd_surprises.backward.noise import sent
from autograd_surprises.backward.steps import Arrived, BackwardStep, GradientSize
from autograd_surprises.facts.graph import Edge, edge_of
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding, at
from autograd_surprises.symptoms.where_it_went import WhereItWent


class Gradient:
    """The gradient of one tensor, and the examination that it is a part of.

    >>> from autograd_surprises.recording.history import History
    >>> x, loss = torch.ones(2, requires_grad=True), torch.ones(1)
    >>> Gradient(Examination(loss, None, History(), False, {}, None), "x", x).is_connected
    False
    """

    def __init__(self, exam: Examination, name: str, tensor: torch.Tensor):
        self.exam, self.name, self.tensor = exam, name, tensor

    @cached_property
    def edge(self) -> Edge:
        return edge_of(self.tensor)

    @property
    def is_connected(self) -> bool:
        """Does a path in the graph lead to the tensor from the loss?"""
        walked = self.exam.backward
        return walked is not None and (self.edge in walked.into or self.edge[0] is walked.root.node)

    @cached_property
    def arrived(self) -> Arrived | None:
        return self.exam.backward.grads.get(id(self.tensor)) if self.exam.backward else None

    @property
    def size(self) -> GradientSize:
        return self.arrived.size

    @property
    def in_words(self) -> str:
        return f"{self.size.in_words()} not 0"

    @cached_property
    def went(self) -> WhereItWent:
        """Where what was computed from the tensor went, as far as it was recorded."""
        return self.exam.destinations.of(self.tensor)

    def above(self) -> Iterator[tuple[BackwardStep, GradientSize, Edge]]:
        """From the tensor up to the loss, always along the largest contribution."""
        return self.exam.backward.main_way(*self.edge)

    def origins(self, symptom: str) -> list:
        """Where "lost" or "not finite" began; [()] if what entered the graph was so already."""
        return self.exam.backward.origins(*self.edge, symptom) or [()]

    def if_sent(self, starts: Iterable[Edge], end: Edge | None = None) -> torch.Tensor | None:
        """What would arrive, at the tensor or at another end, if noise arrived at these edges."""
        return sent(self.exam.backward, starts, end or self.edge)

    @cached_property
    def is_rounded(self) -> bool:
        """Does a larger loss give it more elements that are not 0? Factors of 2 are exact."""
        larger = self.exam.scaled.get(id(self.tensor))
        return larger is not None and larger.finite and larger.nonzero > 2 * self.size.nonzero

    @property
    def enters_float16(self) -> tuple:
        """Where the gradient of the loss first becomes one of float16: the place of a finding."""
        like, found = self.exam.backward.like, ()
        for step, _, _ in self.above():
            dtypes = [like[end][1] for end in ((step.node, 0), *step.edges) if end in like]
            if step.kind == "ToCopy" and dtypes[0] != torch.float16 == dtypes[-1]:
                found = at(step, "becomes float16 at")
        return found

    def finding(self, rule, facts, status: str, also: Iterable[str] = ()) -> Finding:
        """What this rule says of it, with the places and the node that it shows."""
        places, node = rule.shown(facts)
        return rule.finding(facts).about(self.name, status, places, node, also)
