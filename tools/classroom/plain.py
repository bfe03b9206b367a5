"""Values as texts and plain numbers, to pass between a sheet and its judge. Nothing is pickled."""

import base64
import builtins
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from autograd_surprises.recording.places import raised_at

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.uint8),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.complex64, torch.complex128),
    )
}
LONGEST_MESSAGE = 2000  # of an error
MOST_ROOM = 10_000_000  # bytes


@dataclass(frozen=True)
class Place:
    """The line of a sheet that raised an error."""

    short: str
    source: str


class Unknown:
    """Something that cannot be passed: the name of its type is all that arrives."""


def pack(value: object, tensors: list[Tensor], other: Callable[[object], object]) -> object:
    """The value as JSON can write it. Its tensors are added to `tensors`, each once.

    other  packs what is neither a number, a text, a tensor nor a list of these

    >>> pack([1, (None, ...)], [], type)
    {'list': [1, {'tuple': [None, {'ellipsis': 0}]}]}
    """
    if isinstance(value, Tensor):
        found = [i for i, tensor in enumerate(tensors) if tensor is value]
        if not found:
            tensors.append(value)
        return {"tensor": found[0] if found else len(tensors) - 1}
    if value is None or value is ...:
        return None if value is None else {"ellipsis": 0}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    for kind in (list, tuple):
        if isinstance(value, kind):
            return {kind.__name__: [pack(each, tensors, other) for each in value]}
    return other(value)


def unpack(packed: object, tensors: list[Tensor], other: Callable[[str, object], object]) -> object:
    """The value that was packed.

    other  makes what `other` of `pack` has packed, from a name and what stands under it
    """
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "ellipsis":
        return ...
    if kind in ("list", "tuple"):
        return getattr(builtins, kind)(unpack(each, tensors, other) for each in content)
    return other(kind, content)


def pack_other(value: object) -> dict:
    """The name of a class, or of the class of a thing."""
    if isinstance(value, type):
        return {"class": value.__name__}
    return {"thing": type(value).__name__}


def unpack_other(kind: str, name: str) -> object:
    """An empty class of this name, or an object of one."""
    made = type(str(name)[:100], (Unknown,), {})
    return made if kind == "class" else made()


def pack_tensor(tensor: Tensor) -> dict:
    """dtype, shape and numbers; and `room`, the bytes of a larger tensor that it is a part of."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise TypeError(f"a tensor on {tensor.device}, {tensor.layout}, cannot be judged")
    if tensor.dtype not in DTYPES.values():
        raise TypeError(f"a tensor of {tensor.dtype} cannot be judged")
    numbers = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:  # NumPy has none
        numbers = numbers.view(torch.int16)
    room = tensor.untyped_storage().nbytes()
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "numbers": base64.b64encode(numbers.numpy().tobytes()).decode(),
        "room": room if tensor.nbytes < room < MOST_ROOM else 0,
    }


def unpack_tensor(packed: dict) -> Tensor:
    """The tensor; raises ValueError or KeyError if numbers, shape and dtype do not belong together.

    >>> unpack_tensor(pack_tensor(torch.tensor([[1.0, 2.0]])))
    tensor([[1., 2.]])
    """
    dtype, shape = DTYPES[packed["dtype"]], packed["shape"]
    raw = bytearray(base64.b64decode(packed["numbers"]))
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(raw)} bytes are no {dtype} tensor of shape {shape}")
    if not raw:
        return torch.empty(shape, dtype=dtype)
    if dtype == torch.bool:
        return (torch.frombuffer(raw, dtype=torch.uint8) != 0).reshape(shape)
    tensor = torch.frombuffer(raw, dtype=dtype).reshape(shape)
    room = min(packed.get("room", 0), MOST_ROOM)
    whole = torch.empty(max(room // dtype.itemsize, tensor.numel()), dtype=dtype)
    return whole[: tensor.numel()].view(shape).copy_(tensor)


def pack_error(error: BaseException) -> dict:
    """Its message, and the name of the built-in error that it is or derives from."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    message = str(error)
    if type(error).__name__ not in kinds:
        message = f"{type(error).__name__}: {message}"
    place = raised_at(error.__traceback__)
    where = None
    if place and Path(place.file).parent != Path(__file__).parent:
        where = [place.short, place.source]
    return {"kind": kinds[0], "message": message[:LONGEST_MESSAGE], "where": where}


def unpack_error(packed: dict) -> Exception:
    """An error of a built-in kind; a RuntimeError if it is no error, but a SystemExit, say.

    Its attribute `raised_at` is the line where the other side has raised it, or None.
    """
    name, message = str(packed["kind"])[:100], str(packed["message"])[:LONGEST_MESSAGE]
    kind = getattr(builtins, name, None)
    error = RuntimeError(f"{name}: {message}")
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # a UnicodeError has more than a message
            error = kind(message)
    where = packed["where"]
    error.raised_at = where and Place(*(str(each)[:LONGEST_MESSAGE] for each in where))
    return error
