"""What PyTorch says when a gradient goes wrong, and the section of a notebook that explains it.

Each symptom can be made on purpose: `reproduce()` raises or warns with its message. So a test can
tell when a new torch says it differently.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.autograd import Function

from autograd_surprises.show.table import Table
from helpers.lessons import mistakes


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


BASICS = "01_parameter_or_variable.ipynb"
WEIGHTS = "02_backward_needs_a_gradient.ipynb"
ZEROS = "03_round_and_clamp.ipynb"
OVERRIDE = "04_override_backward.ipynb"
TWICE = "05_gradients_of_gradients.ipynb"
CLINIC = "08_none_zero_nan.ipynb"
SURVIVE = "10_functions_that_survive.ipynb"

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
        lambda: (mistakes.leaf() * 2).grad,
    ),
    Symptom(
        "element 0 of tensors does not require grad and does not have a grad_fn",
        f"{BASICS}#Which-tensors-get-a-gradient",
        lambda: torch.ones(2).sum().backward(),
    ),
    Symptom(
        "a leaf Variable that requires grad is being used in an in-place operation",
        f"{BASICS}#What-became-of-Variable",
        mistakes.write_into_leaf,
    ),
    Symptom(
        "cannot assign parameters before Module.__init__() call",
        f"{BASICS}#What-a-Parameter-adds",
        mistakes.NoSuper,
    ),
    Symptom(
        "can't optimize a non-leaf Tensor",
        f"{BASICS}#When-a-Parameter-does-not-work",
        lambda: torch.optim.SGD([mistakes.leaf() * 2], lr=0.1),
    ),
    Symptom(
        "optimizer got an empty parameter list",
        f"{BASICS}#When-a-Parameter-does-not-work",
        lambda: torch.optim.SGD(nn.Module().parameters(), lr=0.1),
    ),
    Symptom(
        "grad can be implicitly created only for scalar outputs",
        f"{WEIGHTS}#A-number-needs-no-weight",
        lambda: (mistakes.leaf() * 2).backward(),
    ),
    Symptom(
        "size mismatch, got input … mat … vec",
        f"{WEIGHTS}#What-backward-computes",
        lambda: torch.ones(3, 2) @ torch.ones(3),
    ),
    Symptom(
        "Mismatch in shape: grad_output[0] has a shape of … and output[0] has a shape of",
        f"{WEIGHTS}#The-shape-of-v",
        lambda: (mistakes.leaf() * 2).backward(torch.ones(3)),
    ),
    Symptom(
        "gradients can be either Tensors or None, but got",
        f"{WEIGHTS}#The-shape-of-v",
        lambda: (mistakes.leaf() * 2).backward([1.0, 0.0]),
    ),
    Symptom(
        "Trying to backward through the graph a second time",
        f"{WEIGHTS}#Calling-backward-again",
        mistakes.pass_a_second_time,
    ),
    Symptom(
        "appears to not have been used in the graph",
        f"{WEIGHTS}#Asking-for-a-gradient",
        lambda: torch.autograd.grad(mistakes.leaf().sum(), mistakes.leaf()),
    ),
    Symptom(
        "derivative for … is not implemented",
        f"{ZEROS}#No-derivative-at-all",
        lambda: (mistakes.leaf() // 1).sum().backward(),
    ),
    Symptom(
        "You must implement the forward function for custom autograd.Function",
        f"{OVERRIDE}#From-an-empty-class-to-RoundSTE",
        lambda: Function.apply(mistakes.leaf()),
    ),
    Symptom(
        "forward() takes 1 positional argument but 2 were given",
        f"{OVERRIDE}#From-an-empty-class-to-RoundSTE",
        lambda: mistakes.NoContext.apply(mistakes.leaf()),
    ),
    Symptom(
        "must implement either the backward or vjp method",
        f"{OVERRIDE}#From-an-empty-class-to-RoundSTE",
        lambda: mistakes.NoBackward.apply(mistakes.leaf()).sum().backward(),
    ),
    Symptom(
        "should not be instantiated",
        f"{OVERRIDE}#Calling-it",
        lambda: mistakes.NoSetupContext()(mistakes.leaf()),
    ),
    Symptom(
        "Legacy autograd function with non-static forward method",
        f"{OVERRIDE}#Calling-it",
        mistakes.call_an_object,
    ),
    Symptom(
        "returned an incorrect number of gradients",
        f"{OVERRIDE}#One-gradient-for-each-input",
        lambda: mistakes.OneGradientTooFew.apply(mistakes.leaf(), 2.0).sum().backward(),
    ),
    Symptom(
        "it must override the setup_context staticmethod",
        f"{OVERRIDE}#What-to-keep-for-backward",
        lambda: torch.func.grad(lambda x: mistakes.NoSetupContext.apply(x).sum())(torch.ones(2)),
    ),
    Symptom(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        f"{OVERRIDE}#Four-switches-for-special-cases",
        mistakes.differentiate_twice,
    ),
    Symptom(
        "Jacobian mismatch for output 0 with respect to input 0",
        f"{OVERRIDE}#Checking-the-gradient",
        mistakes.gradcheck_straight_through,
    ),
    Symptom(
        "is not a double precision floating point or complex",
        f"{OVERRIDE}#Checking-the-gradient",
        lambda: torch.autograd.gradcheck(torch.square, mistakes.leaf(), raise_exception=False),
    ),
    Symptom(
        "module 'torch.autograd' has no attribute 'second_derivative'",
        f"{TWICE}#A-gradient-with-a-history",
        lambda: torch.autograd.second_derivative(mistakes.leaf()),
    ),
    Symptom(
        "grad() missing 1 required positional argument: 'outputs'",
        f"{TWICE}#A-gradient-with-a-history",
        lambda: torch.autograd.grad(inputs=mistakes.leaf()),
    ),
    Symptom(
        "create_graph=True will create a reference cycle between the parameter and its gradient",
        f"{TWICE}#A-gradient-with-a-history",
        mistakes.keep_a_graph_in_grad,
    ),
    Symptom(
        "cannot assign 'torch.FloatTensor' as parameter",
        f"{CLINIC}#Any-other-message",
        mistakes.replace_parameter,
    ),
    Symptom(
        "has been modified by an inplace operation",
        f"{CLINIC}#A-value-that-is-still-needed",
        mistakes.overwrite_saved_tensor,
    ),
    Symptom(
        "but it does not have vmap support",
        f"{SURVIVE}#One-more-dimension-with-vmap",
        lambda: torch.func.vmap(mistakes.PlainRoundSTE.apply)(torch.ones(2)),
    ),
    Symptom(
        "You must implement the jvp function for custom autograd.Function",
        f"{SURVIVE}#Forward-mode",
        mistakes.differentiate_forwards,
    ),
    Symptom(
        "expected m1 and m2 to have the same dtype, but got",
        f"{SURVIVE}#Mixed-precision",
        mistakes.mix_dtypes,
    ),
)
