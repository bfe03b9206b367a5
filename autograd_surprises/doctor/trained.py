"""What one loss trains: the model and the optimizers whose parameters are leaves of its graph."""

from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import NamedTuple

import torch
from torch import nn
from torch.amp.grad_scaler import OptState
from torch.optim import Optimizer

from autograd_surprises.recording.modules import living, parameters_in
from autograd_surprises.recording.setup_lines import stand_in
from autograd_surprises.recording.stack import held_tensors, names_on_stack

WRAPPERS = {"OptimizedModule", "DataParallel", "DistributedDataParallel"}


class Trained(NamedTuple):
    """What a loss trains."""

    # An optimizer with the parameters that its optimizers hold and that can be trained; without
    # any, the model, or None.
    wrt: Optimizer | nn.Module | None
    model: nn.Module | None  # the modules that hold them, as one
    optimizer: Optimizer | None  # one that holds what its optimizers hold; None if there are none
    others: list[list[torch.Tensor]]  # parameters of further optimizers
    held: list[list[torch.Tensor]]  # parameters of each optimizer
    scaled: bool  # is there a GradScaler? It skips a step whose gradient is not finite


def trained_by(
    leaves: Iterable[torch.Tensor],
    frame: FrameType | None = None,
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
) -> Trained:
    """Find what a loss with these leaves trains, among all objects that exist, unless it is given.

    >>> layer = nn.Linear(2, 1)
    >>> sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> trained_by(layer.parameters()).model is layer
    True
    """
    known = {id(leaf): place for place, leaf in enumerate(leaves)}
    optimizers, modules, scalers = living(Optimizer, nn.Module, torch.amp.GradScaler)
    optimizers = optimizers if optimizer is None else [optimizer]
    used = [o for o in optimizers if not known.keys().isdisjoint(map(id, parameters_of(o)))]
    others = [parameters_of(o) for o in optimizers if o not in used]
    if model is None:
        held = {id(p) for o in optimizers for p in parameters_of(o)}
        model = _joined(_registered(_outermost(modules, known), held), frame)
    own = set() if model is None else {id(p) for p in parameters_in(model)}
    mine = {id(p): p for o in used for p in parameters_of(o) if p.requires_grad}
    wrt = stand_in(list(mine.values()), used) if mine else model
    # What other optimizers hold of this model is trained; a leaf outside of it is no stranger.
    trained = {id(p): p for several in others for p in several if id(p) in own}
    trained |= {id(p): p for p in mine.values() if id(p) in own or id(p) not in known}
    one = stand_in(list(trained.values()), used) if mine and trained else None
    held = [parameters_of(o) for o in optimizers]
    return Trained(wrt, model, one, others, held, any(s.is_enabled() for s in scalers))


def parameters_of(owner: Optimizer | nn.Module | None) -> list[torch.Tensor]:
    """The parameters that this holds; none if it is a wrapper that is not set up yet."""
    with suppress(Exception):
        return [p for group in owner.param_groups for p in group["params"]]
    return parameters_in(owner) if isinstance(owner, nn.Module) else []


def waiting_scheduler(optimizer: Optimizer) -> str:
    """The kind of a learning rate scheduler of this optimizer that has made no step, or "".

    >>> sgd = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(sgd, lambda step: step / 10)
    >>> waiting_scheduler(sgd)
    'LambdaLR'
    """
    (schedulers,) = living(torch.optim.lr_scheduler.LRScheduler)
    mine = (each for each in schedulers if getattr(each, "optimizer", None) is optimizer)
    return next((type(each).__name__ for each in mine if each.last_epoch == 0), "")


def scale_of(parameters: Iterable[torch.Tensor]) -> float:
    """By what a GradScaler has multiplied the gradients of these and not yet divided them again."""
    known = {id(parameter) for parameter in parameters}
    optimizers, scalers = living(Optimizer, torch.amp.GradScaler)
    mine = [o for o in optimizers if known.intersection(map(id, parameters_of(o)))]
    scales = [
        scaler.get_scale()
        for scaler in scalers
        for optimizer in mine
        if scaler.is_enabled()
        and scaler._per_optimizer_states[id(optimizer)]["stage"] is OptState.READY
    ]
    return max(scales, default=1.0)


def _outermost(modules, known):
    """Those that are part of no other and hold known parameters, the largest first.

    Of equals, the one whose parameters come first: the order of `modules` is by chance.
    """
    parts, tops = set(), []
    for module in modules:
        with suppress(Exception):
            parts.update(id(part) for part in module._modules.values())
    for module in modules:
        with suppress(Exception):
            mine = {id(p) for p in parameters_in(module)}
            if id(module) not in parts and known.keys() & mine:
                tops.append((module, mine))
    tops.sort(key=lambda pair: (-len(pair[1]), min(known[i] for i in known.keys() & pair[1])))
    found, left = [], set(known)
    for module, mine in tops:
        if left & mine:
            left -= mine
            found.append(module)
    return found


def _registered(tops, held):
    """Without those that no optimizer holds and another keeps in a plain list, dict or object.

    It should have registered them; as modules of their own, they would pass for its equals.
    """
    trained = [top for top in tops if not held.isdisjoint(map(id, parameters_in(top)))]
    kept = set()
    for top in trained if len(trained) < len(tops) else ():
        with suppress(Exception):  # an object that cannot be inspected
            kept.update(id(t) for _, t in held_tensors(top, ""))
    return [t for t in tops if t in trained or kept.isdisjoint(map(id, parameters_in(t)))]


def _joined(modules, frame):
    """Several modules as one, under the names of the user's variables."""
    modules = [_unwrapped(module) for module in modules]
    if len(modules) < 2:
        return modules[0] if modules else None
    labels = names_on_stack(frame, modules)
    joined = nn.ModuleDict()
    for i, module in enumerate(modules):
        label = labels.get(id(module), type(module).__name__)
        joined._modules[label if label not in joined else f"{label}_{i + 1}"] = module
    return joined


def _unwrapped(module):
    while type(module).__name__ in WRAPPERS:
        module = next(module.children())
    return module
