"""The tensors and modules that the user's variables on the stack hold."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType

import torch

from autograd_surprises.recording.modules import named_parameters_in
from autograd_surprises.recording.places import owner

LIMIT = 5000  # objects visited at most per variable, without ATOMS
# What of these types a variable holds is not searched.
ATOMS = {type(None), bool, int, float, complex, str, bytes, ModuleType, BuiltinFunctionType, type}
SHELL = re.compile(r"_+|_i?\d+|_i+|_[oid]h|In|Out|__\w+__")  # copies that IPython and Python add


def tensors_in(value: object) -> list[torch.Tensor]:
    """The tensors in an argument or a result, in its lists, tuples and dicts, too.

    >>> tensors_in([1, {"a": torch.ones(1)}])
    [tensor([1.])]
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors_in(part)]
    return []


def held_tensors(value: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a variable holds, each with the expression that reaches it: "scales[0]".

    Lists, dicts, closures and attributes are searched, up to a limit; modules completely.
    """
    waiting, looked = deque([(name, value, 0)]), 0
    while waiting and looked < LIMIT:
        name, value, depth = waiting.popleft()
        looked += 1
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, (ModuleType, type, torch.optim.Optimizer)) or depth > 3:
            continue
        elif isinstance(value, torch.nn.Module):
            yield from ((f"{name}.{path}", p) for path, p in named_parameters_in(value))
            for path, part in value.named_modules():
                where = f"{name}.{path}" if path else name
                waiting += ((f"{where}.{k}", v, depth + 1) for k, v in _attributes(part))
        elif isinstance(value, dict):
            keys = [key for key in value if isinstance(key, (str, int))][:LIMIT]
            pairs = ((key, value[key]) for key in keys if type(value[key]) not in ATOMS)
            waiting += ((f"{name}[{key!r}]", part, depth + 1) for key, part in pairs)
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            parts = enumerate(islice(value, LIMIT))
            pairs = ((i, part) for i, part in parts if type(part) not in ATOMS)
            waiting += ((f"{name}[{i}]", part, depth + 1) for i, part in pairs)
        elif isinstance(value, FunctionType):
            waiting += ((key, held, depth + 1) for key, held in closure_of(value).items())
        elif hasattr(value, "__dict__"):
            waiting += ((f"{name}.{k}", v, depth + 1) for k, v in _attributes(value))


def _attributes(value):
    return [
        (k, v)
        for k, v in list(vars(value).items())
        if type(v) not in ATOMS and (not k.startswith("_") or isinstance(v, torch.Tensor))
    ]


def closure_of(function: object) -> dict[str, object]:
    """The variables of the functions around it that a function uses, as far as they are set.

    >>> def outer(w): return lambda x: w * x
    >>> closure_of(outer(2))
    {'w': 2}
    """
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # not set yet
            found[name] = cell.cell_contents
    return found


def tensors_on_stack(
    frame: FrameType | None, recorder: object = None
) -> tuple[dict[int, str], list[torch.Tensor]]:
    """The tensors that the user's variables on the stack hold: the shortest name by id, and all.

    recorder  is left out: it holds thousands of calls and no tensor
    """
    names: dict[int, str] = {}
    tensors: dict[int, torch.Tensor] = {}
    for space in _spaces(frame):
        for variable, value in list(space.items()):
            kind = type(value)
            if kind in ATOMS or kind is FunctionType and not value.__closure__:
                continue
            if value is recorder or SHELL.fullmatch(variable):
                continue
            with suppress(Exception):  # an object that cannot be inspected
                for name, tensor in held_tensors(value, variable):
                    tensors[id(tensor)] = tensor
                    if len(name) < len(names.get(id(tensor), name + " ")):
                        names[id(tensor)] = name
    return names, list(tensors.values())


def modules_on_stack(frame: FrameType | None) -> list[torch.nn.Module]:
    """The modules that the user's variables on the stack hold, or attributes of these."""
    found = {}
    for space in _spaces(frame):
        for value in list(space.values()):
            held = [value]
            if not isinstance(value, (ModuleType, type)):
                with suppress(Exception):  # an object whose attributes cannot be read
                    held += vars(value).values()
            found.update((id(m), m) for m in held if isinstance(m, torch.nn.Module))
    return list(found.values())


def names_on_stack(frame: FrameType | None, things: Iterable[object]) -> dict[int, str]:
    """The user's variable that holds each of these, by id: the one of the innermost function."""
    wanted, names = {id(thing) for thing in things}, {}
    for own in _user_frames(frame):
        for space in (own.f_locals, own.f_globals):
            for name, value in list(space.items()):
                if id(value) in wanted:
                    names.setdefault(id(value), name)
    return names


def _spaces(frame):
    """The local and global variables of the user's frames."""
    spaces = {}
    for own in _user_frames(frame):
        spaces[id(own.f_globals)] = own.f_globals
        spaces[id(own)] = own.f_locals
    return list(spaces.values())


def _user_frames(frame):
    while frame is not None:
        if owner(frame.f_code) == "user":
            yield frame
        frame = frame.f_back
