"""The objects of some classes that exist now, and what a module holds.

That is also told where its class has a `parameters` of its own.
"""

import gc

import torch
from torch import nn


def named_parameters_in(module: nn.Module, twice: bool = False) -> list[tuple[str, nn.Parameter]]:
    """The parameters of it and of its parts, by name; with each name of one, if `twice`.

    >>> named_parameters_in(nn.PReLU())
    [('weight', Parameter containing:
    tensor([0.2500], requires_grad=True))]
    """
    return list(nn.Module.named_parameters(module, remove_duplicate=not twice))


def parameters_in(module: nn.Module) -> list[nn.Parameter]:
    """The parameters of it and of its parts."""
    return [parameter for _, parameter in named_parameters_in(module)]


def own_parameters(module: nn.Module) -> list[torch.Tensor]:
    """Those that it holds itself."""
    return [parameter for parameter in module._parameters.values() if parameter is not None]


def parts_of(model: nn.Module | None) -> list[tuple[str, nn.Module]]:
    """A model, under no name, or several that are trained together under those of the variables.

    >>> [name for name, _ in parts_of(nn.ModuleDict({"actor": nn.Linear(2, 1)}))]
    ['actor']
    """
    if isinstance(model, nn.ModuleDict):
        return list(model.named_children())
    return [] if model is None else [("", model)]


def living(*kinds: type) -> list[list]:
    """All objects of each of these classes, and of classes derived from it.

    >>> class Kind: pass
    >>> one = Kind()
    >>> living(Kind) == [[one]]
    True
    """
    families = [_family(kind) for kind in kinds]
    some = set().union(*families)
    # A list of all objects is read once: that takes the time, and not what is done with a few.
    things = [thing for thing in gc.get_objects() if type(thing) in some]
    return [[thing for thing in things if type(thing) in family] for family in families]


def _family(kind):
    family, waiting = {kind}, [kind]
    while waiting:
        derived = set(type.__subclasses__(waiting.pop())) - family
        family |= derived
        waiting += derived
    return family
