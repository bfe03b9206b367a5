"""Places in somebody's Python code, and the tensors that the names there hold."""

from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType

import torch

TORCH, HERE = (str(Path(file).parent) + os.sep for file in (torch.__file__, __file__))
LIBRARIES = (
    str(Path(HERE).parent) + os.sep,
    "site-packages" + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep,
)


@dataclass(frozen=True)
class Where:
    """A line of Python code, and the path of the module whose forward was running, or ""."""

    file: str
    line: int
    module: str = ""

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    @property
    def short(self) -> str:
        """The file without its folders. A notebook cell has a file of changing name, so no name."""
        in_notebook = "ipykernel_" in self.file
        return f"line {self.line}" if in_notebook else f"{Path(self.file).name}:{self.line}"

    def __str__(self):
        module = f"  (in {self.module})" if self.module else ""
        return f"{self.short}: {self.source}{module}" if self.source else f"{self.short}{module}"


@cache
def owner(code: CodeType) -> str:
    """Whose code this is: torch's (the doctor's own counts as that), a library's, or the user's."""
    file = code.co_filename
    if file.startswith((TORCH, HERE, "<frozen")):
        return "torch"
    return "library" if any(library in file for library in LIBRARIES) else "user"


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user, from `frame` outwards; else the innermost outside torch."""
    outside = None
    while frame is not None:
        whose = owner(frame.f_code)
        if whose == "user":
            return frame
        if whose == "library" and outside is None:
            outside = frame
        frame = frame.f_back
    return outside


def where_is(frame: FrameType | None) -> Where | None:
    """The line that a frame is at."""
    return frame and Where(frame.f_code.co_filename, frame.f_lineno)


def raised_at(traceback: TracebackType | None) -> Where | None:
    """The innermost line of the user that an exception passed through."""
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if owner(code) == "user":
            place = Where(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


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


def held_tensors(value: object, name: str, depth: int = 3) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a variable holds, each with the expression that reaches it: "scales[0]".

    Long data is not searched, nor a list that begins with something else than tensors or lists.
    """
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        yield from ((f"{name}.{path}", p) for path, p in value.named_parameters())
    elif isinstance(value, (list, tuple, dict)) and depth and 0 < len(value) <= 1000:
        pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
        if isinstance(pairs[0][1], (torch.Tensor, torch.nn.Module, list, tuple, dict)):
            for key, part in pairs:
                yield from held_tensors(part, f"{name}[{key!r}]", depth - 1)


def variables(frame: FrameType | None) -> dict[str, torch.Tensor]:
    """The tensors that the user's variables on the stack hold, and their attributes and lists.

    A name that stands for two tensors means the one of the innermost function.
    """
    found: dict[str, torch.Tensor] = {}
    spaces = []
    while frame is not None:
        if owner(frame.f_code) == "user":
            spaces += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    for space in {id(space): space for space in reversed(spaces)}.values():
        for name, value in list(space.items()):
            if name.startswith("_") or isinstance(value, (ModuleType, type)):
                continue  # the shell's own copies of results; libraries
            found.update(held_tensors(value, name))
            for attribute, held in list(getattr(value, "__dict__", {}).items()):
                if not attribute.startswith("_"):
                    found.update(held_tensors(held, f"{name}.{attribute}"))
    return found
