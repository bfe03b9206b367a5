"""float16 rounded a gradient, or most of it, to 0: a larger loss shows it."""

import torch

from autograd_surprises.facts.graph import Edge
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import at
from autograd_surprises.symptoms.rule import Rule
from autograd_surprises.symptoms.zero_rules import USE_A_SCALER

ROUNDED = Rule(
    "underflow/float16",
    "float16 rounds it to 0 on the way: a loss 65536 times as large gives it a gradient",
    USE_A_SCALER,
    "half",
)

MOSTLY_ROUNDED = Rule(
    "underflow/float16-mostly",
    "float16 rounds most of it to 0 on the way: a loss 65536 times as large gives it more than "
    "twice as many elements that are not 0",
    USE_A_SCALER,
    "half",
)


def is_rounded(exam: Examination, tensor: torch.Tensor, nonzero: int) -> bool:
    """Does a larger loss give it more elements that are not 0? Factors of 2 are exact.

    >>> x = torch.ones(2, dtype=torch.float16, requires_grad=True)
    >>> explain((x.float() * 1e-9).sum(), {"x": x})["x"].rule
    'underflow/float16'
    """
    larger = exam.scaled.get(id(tensor))
    return larger is not None and larger.finite and larger.nonzero > 2 * nonzero


def enters_float16(exam: Examination, edge: Edge) -> tuple:
    """Where the gradient of the loss first becomes one of float16, as the place of a finding."""
    like, found = exam.backward.like, ()
    for step, _, _ in exam.backward.main_way(*edge):
        dtypes = [like[end][1] for end in ((step.node, 0), *step.edges) if end in like]
        if step.kind == "ToCopy" and dtypes[0] != torch.float16 == dtypes[-1]:
            found = at(step, "becomes float16 at")
    return found
