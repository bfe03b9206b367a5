"""What PyTorch says when a gradient goes wrong, and the section of a notebook that explains it.

Each symptom can be made on purpose: `reproduce()` raises or warns with its message. So a test can
tell when a new torch says it differently.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.functions import round_ste
from helpers.tables import Table


@dataclass(frozen=True)
class Symptom:
    """One message and its explanation.

    message    a part of the exact text; … stands for what differs from case to case
    section    notebook and heading
    reproduce  makes it happen
    """

    message: str
    section: str
    reproduce: Callable[[], object]


def symptom_table() -> Table:
    """All symptoms with a link to the section that explains each.

    >>> symptom_table().headings
    ('PyTorch says', 'Explained in')
    """
    rows = []
    for symptom in SYMPTOMS:
        notebook, _, heading = symptom.section.partition("#")
        code = f"`` {symptom.message} ``" if "`" in symptom.message else f"`{symptom.message}`"
        rows.append((code, f"[{notebook[:2]}: {heading.replace('-', ' ')}]({symptom.section})"))
    return Table(("PyTorch says", "Explained in"), tuple(rows))


class _NoSuper(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter(torch.ones(1))


class _NoSetupContext(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class _NoBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()


class _Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class _OneGradientTooFew(Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def _leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _write_into_leaf():
    x = _leaf()
    x += 1


def _overwrite_saved_tensor():
    x = _leaf()
    y = _Square.apply(x)
    with torch.no_grad():
        x += 1
    y.sum().backward()


def _call_an_object():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _Square()(_leaf())


def _differentiate_twice():
    x = _leaf()
    (slope,) = torch.autograd.grad((_Square.apply(x) ** 2).sum(), x, create_graph=True)
    slope.sum().backward()


def _gradcheck_straight_through():
    x = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(round_ste, x)


BASICS = "01_parameter_or_variable.ipynb"
ZEROS = "03_round_and_clamp.ipynb"
OVERRIDE = "04_override_backward.ipynb"

SYMPTOMS = (
    Symptom(
        "No module named 'pytorch'",
        f"{BASICS}#A-layer-that-trains",
        lambda: importlib.import_module("pytorch"),
    ),
    Symptom(
        "tensor() takes 1 positional argument but 2 were given",
        f"{BASICS}#A-layer-that-trains",
        lambda: torch.tensor(3, 3),
    ),
    Symptom(
        "`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`",
        f"{BASICS}#A-layer-that-trains",
        lambda: nn.init.uniform(torch.empty(3), 0, 1),
    ),
    Symptom(
        "Only Tensors of floating point and complex dtype can require gradients",
        f"{BASICS}#Which-tensors-get-a-gradient",
        lambda: torch.tensor([1, 2], requires_grad=True),
    ),
    Symptom(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
        f"{BASICS}#Which-tensors-get-a-gradient",
        lambda: (_leaf() * 2).grad,
    ),
    Symptom(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        f"{BASICS}#Which-tensors-get-a-gradient",
        lambda: torch.ones(2).sum().backward(),
    ),
    Symptom(
        "a leaf Variable that requires grad is being used in an in-place operation",
        f"{BASICS}#What-became-of-Variable",
        _write_into_leaf,
    ),
    Symptom(
        "cannot assign parameters before Module.__init__() call",
        f"{BASICS}#What-a-Parameter-adds",
        _NoSuper,
    ),
    Symptom(
        "can't optimize a non-leaf Tensor",
        f"{BASICS}#When-a-Parameter-does-not-work",
        lambda: torch.optim.SGD([_leaf() * 2], lr=0.1),
    ),
    Symptom(
        "optimizer got an empty parameter list",
        f"{BASICS}#When-a-Parameter-does-not-work",
        lambda: torch.optim.SGD(nn.Module().parameters(), lr=0.1),
    ),
    Symptom(
        "derivative for … is not implemented",
        f"{ZEROS}#No-derivative-at-all",
        lambda: (_leaf() // 1).sum().backward(),
    ),
    Symptom(
        "must implement either the backward or vjp method",
        f"{OVERRIDE}#From-an-empty-class-to-RoundSTE",
        lambda: _NoBackward.apply(_leaf()).sum().backward(),
    ),
    Symptom(
        "grad can be implicitly created only for scalar outputs",
        f"{OVERRIDE}#Calling-it",
        lambda: (_leaf() * 2).backward(),
    ),
    Symptom(
        "should not be instantiated. Methods on autograd functions are all static",
        f"{OVERRIDE}#Calling-it",
        lambda: _NoSetupContext()(_leaf()),
    ),
    Symptom(
        "Legacy autograd function with non-static forward method",
        f"{OVERRIDE}#Calling-it",
        _call_an_object,
    ),
    Symptom(
        "returned an incorrect number of gradients",
        f"{OVERRIDE}#One-gradient-for-each-input",
        lambda: _OneGradientTooFew.apply(_leaf(), 2.0).sum().backward(),
    ),
    Symptom(
        "has been modified by an inplace operation",
        f"{OVERRIDE}#What-to-keep-for-backward",
        _overwrite_saved_tensor,
    ),
    Symptom(
        "it must override the setup_context staticmethod",
        f"{OVERRIDE}#What-to-keep-for-backward",
        lambda: torch.func.grad(lambda x: _NoSetupContext.apply(x).sum())(torch.ones(2)),
    ),
    Symptom(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        f"{OVERRIDE}#Four-switches-for-special-cases",
        _differentiate_twice,
    ),
    Symptom(
        "Jacobian mismatch for output 0 with respect to input 0",
        f"{OVERRIDE}#Is-the-gradient-right",
        _gradcheck_straight_through,
    ),
)
