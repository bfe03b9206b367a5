"""compare(): whose gradients two steps compute differently, where, and why."""

from __future__ import annotations

import torch
from torch import nn

from autograd_surprises.comparing.compared import SAME, UNDECIDED, Compared, share
from autograd_surprises.comparing.distance import NOTHING, together
from autograd_surprises.comparing.measured import Runs
from autograd_surprises.comparing.one_step import Step
from autograd_surprises.comparing.parting import against_float64, losses, where_they_part
from autograd_surprises.several_processes import is_spread
from autograd_surprises.show.findings import listed

FAR = 0.1  # a relative error of step a: it hides what it is compared with


def compare(step_a: Step, step_b: Step, model: nn.Module) -> Compared:
    """Say whether two steps compute the same gradients, and if not, where they part and why.

    Each step is a function without arguments that runs a forward pass of `model` and returns the
    loss. compare runs the backward itself, several times, also in float64: that is how it knows
    how large rounding errors are. A difference counts if it is more than 8 times the error of
    step_a. Parameters, buffers, .grad, attributes of modules and the random generators of torch,
    Python and NumPy are put back before and after each run, so both steps draw the same numbers.
    A step must take the same batch each time. What it keeps elsewhere is that of the last run,
    perhaps in float64.

    Raises TypeError or ValueError for what cannot be compared.

    >>> model, x = nn.Linear(2, 1), torch.ones(3, 2)
    >>> compare(lambda: model(x).sum(), lambda: 3 * model(x).mean(), model).same
    True
    """
    parameters = _parameters_of(model)
    for name, step in (("step_a", step_a), ("step_b", step_b)):
        if not callable(step):
            raise TypeError(
                f"{name} has to be a function that runs the forward pass and returns the loss, got "
                f"{type(step).__name__}" + HINTS.get(type(step), "")
            )
    runs = Runs(model, parameters, step_a, step_b)
    found = runs.differences()
    beyond = [each for each in found if each.differs]
    undecided = _why_undecided(runs, found, beyond)
    if undecided:
        return Compared(UNDECIDED, undecided, tuple(found))
    if not beyond:
        said = (("losses", f"they differ: {losses(runs)}"),) if runs.losses_differ else ()
        return Compared(
            SAME, _reassurance(found), tuple(found), losses=said, also=_notes(runs, found)
        )
    return where_they_part(runs, found, beyond)


HINTS = {torch.Tensor: ": pass a function, such as lambda: loss_fn(model(x), y)"}


def _parameters_of(model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"model has to be an nn.Module, got {type(model).__name__}")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("the model has no parameter that requires a gradient")
    for name, parameter in parameters.items():
        if nn.parameter.is_lazy(parameter):
            raise ValueError(f"{name} is not initialised yet: run the model once before compare")
        if is_spread(parameter) or parameter.is_meta:
            raise ValueError(f"the numbers of {name} are not in this process")
    return parameters


def _why_undecided(runs, found, beyond):
    """Why it cannot be told whether the gradients are the same, or ""."""
    if runs.unsteady:
        return (
            f"{runs.unsteady} gives other gradients each time: it takes another batch, keeps "
            "something from run to run, or draws random numbers that compare cannot put back. "
            "Let both steps use one batch"
        )
    if beyond and runs.draw_differently and (runs.a.compiled or runs.b.compiled):
        return (
            "the compiled step draws other random numbers, for dropout for example, so the "
            "gradients differ in any case. Compare in eval mode, or with torch.compile(..., "
            "options={'fallback_random': True})"
        )
    if runs.exact_a is None and beyond:
        largest = max(beyond, key=lambda each: each.relative(each.apart))
        return (
            f"the largest relative difference is {share(largest.relative(largest.apart))} "
            f"({largest.name}); how much of it is rounding is not known, because {runs.trouble}"
        )
    error = together(each.floor for each in found)
    alike = all(each.apart == NOTHING for each in found)
    if not beyond and not alike and error > FAR * together(each.size for each in found):
        return (
            "rounding errors hide what differs: the gradients of step a are as far from those in "
            f"float64 as {share(error / together(each.size for each in found))} of their size"
        )
    return ""


# No difference.


def _reassurance(found):
    """One sentence with the figures."""
    count = "the gradient of the parameter is the same"
    if len(found) > 1:
        count = f"the gradients of all {len(found)} parameters are the same"
    if all(each.apart == NOTHING for each in found):
        return f"{count}, bit for bit"
    largest = _largest(found)
    return (
        f"{count} up to rounding: the largest relative difference is "
        f"{share(largest.relative(largest.apart))} ({largest.name}), and rounding errors there "
        f"are about {share(largest.relative(largest.floor))}"
    )


def _largest(found):
    """The one that differs most, of those that are more than rounding errors."""
    return max(
        [each for each in found if not each.is_rounding] or found,
        key=lambda each: each.relative(each.apart),
    )


def _notes(runs, found):
    a, b = runs.a.gradients, runs.b.gradients
    missing = [name for name in a if (a[name] is None) != (b[name] is None)]
    rows = []
    if _largest(found).nearer:
        rows += against_float64(_largest(found))
    noise = [each.name for each in found if each.is_rounding and each.apart != NOTHING]
    if noise:
        text = f"the gradient of {listed(noise, most=3)} is 0 but for rounding errors"
        rows.append(("rounding", text))
    if missing:
        names = listed(missing, most=3)
        rows.append(("None", f"the gradient of {names} is None in one step, and 0 in the other"))
    return tuple(rows)
