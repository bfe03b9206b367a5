"""What a module holds, also where its class has a `parameters` of its own."""

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
