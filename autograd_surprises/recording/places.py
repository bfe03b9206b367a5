"""Lines of Python code, and the tensors that the variables there hold."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType

import torch

TORCH_FOLDER = str(Path(torch.__file__).parent) + os.sep
PACKAGE = Path(__file__).parent.parent
DOCTOR = tuple(str(PACKAGE / name) for name in ("recording", "backward", "symptoms", "doctor"))
# The packages of this project count as libraries: in a checkout they lie side by side.
OURS = [str(PACKAGE.with_name(name)) + os.sep for name in (PACKAGE.name, "helpers", "lessons")]
INSTALLED = "site-packages" + os.sep
LIBRARIES = (*OURS, INSTALLED, sysconfig.get_paths()["stdlib"] + os.sep)

LIMIT = 5000  # objects visited at most per variable
SHELL = re.compile(r"_+|_i?\d+|_i+|_[oid]h|In|Out|__\w+__")  # what IPython and Python add


@dataclass(frozen=True)
class Where:
    """A line of Python code, and the path of the module whose forward was running, or "".

    inside  the line in a library where it happened, if the user's line only led there
    kind    the class of that module, or ""
    """

    file: str
    line: int
    module: str = ""
    inside: Where | None = None
    kind: str = ""

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    @property
    def short(self) -> str:
        """File name and line; for a notebook cell the line alone, because its file name changes."""
        in_notebook = "ipykernel_" in self.file
        return f"line {self.line}" if in_notebook else f"{Path(self.file).name}:{self.line}"

    @property
    def layer(self) -> str:
        """The module as print(model) shows it: "first", but "11: ReLU" in an nn.Sequential."""
        is_number = self.module.rpartition(".")[2].isdigit()
        return f"{self.module}: {self.kind}" if is_number else self.module

    def __str__(self):
        inside = f", inside {self.inside}" if self.inside else ""
        module = f"  (in {self.layer})" if self.module else ""
        source = self.source.rstrip(",") if self.inside else self.source  # one comma is enough
        return f"{self.short}{f': {source}' if source else ''}{inside}{module}"


_owners: dict[int, tuple[CodeType, str]] = {}  # by id: hashing the code of a long function is slow


def owner(code: CodeType) -> str:
    """Whose code this is: torch's (the doctor's own counts as that), a library's, or the user's."""
    known = _owners.get(id(code))
    if known is None:
        known = _owners[id(code)] = code, owner_of(code.co_filename)
    return known[1]


def owner_of(file: str) -> str:
    """Whose file this is, as for the code in it."""
    if file.startswith((TORCH_FOLDER, *DOCTOR, "<frozen")):
        return "torch"
    return "library" if any(library in file for library in LIBRARIES) else "user"


def _is_installed(code: CodeType) -> bool:
    return owner(code) == "library" and INSTALLED in code.co_filename


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user, from `frame` outwards; else the innermost outside torch."""
    return _frames(frame)[0]


def _frames(frame):
    """That frame, and the innermost frame of an installed library that it led to, or None."""
    outside = library = None
    while frame is not None:
        whose = owner(frame.f_code)
        if whose == "user":
            return frame, library
        if whose == "library":
            outside = outside or frame
            if library is None and _is_installed(frame.f_code):
                library = frame
        frame = frame.f_back
    return outside, library if library is not outside else None


CodeLine = tuple[CodeType, int, CodeType | None, int]


def code_line(frame: FrameType) -> CodeLine:
    """The user's line that led to `frame`, and the library's, as cheap as can be: no text yet."""
    user, library = _frames(frame)
    user = user or frame
    if library is None:
        return user.f_code, user.f_lineno, None, 0
    return user.f_code, user.f_lineno, library.f_code, library.f_lineno


def switched_at(caller: FrameType) -> Where | None:
    """Where recording is switched off: a line, or the decorator of a function."""
    frame = caller
    while frame is not None and owner(frame.f_code) == "torch":
        if {"ctx_factory", "func"} <= set(frame.f_code.co_freevars):  # of torch's decorator
            code = frame.f_locals["func"].__code__
            return Where(code.co_filename, code.co_firstlineno)
        frame = frame.f_back
    return where_from(caller)


def place_of(line: CodeLine, module: str = "", kind: str = "") -> Where:
    """The place that a code line stands for."""
    code, number, inner, inner_number = line
    inside = Where(inner.co_filename, inner_number) if inner else None
    return Where(code.co_filename, number, module, inside, kind)


def where_is(frame: FrameType | None) -> Where | None:
    """The line that a frame is at."""
    return frame and Where(frame.f_code.co_filename, frame.f_lineno)


def where_from(frame: FrameType | None) -> Where | None:
    """The user's line that led to a frame, and the library's."""
    return frame and place_of(code_line(frame))


def raised_at(traceback: TracebackType | None) -> Where | None:
    """The innermost line of the user that an exception passed through, and a library's in it."""
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        here = Where(code.co_filename, traceback.tb_lineno)
        if owner(code) == "user":
            place = here
        elif place is not None and _is_installed(code):
            place = replace(place, inside=here)
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
            yield from ((f"{name}.{path}", p) for path, p in value.named_parameters())
            for path, part in value.named_modules():
                where = f"{name}.{path}" if path else name
                waiting += ((f"{where}.{k}", v, depth + 1) for k, v in _attributes(part))
        elif isinstance(value, dict):
            keys = [key for key in value if isinstance(key, (str, int))]
            waiting += ((f"{name}[{key!r}]", value[key], depth + 1) for key in keys[:LIMIT])
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            parts = enumerate(islice(value, LIMIT))
            waiting += ((f"{name}[{i}]", part, depth + 1) for i, part in parts)
        elif isinstance(value, FunctionType):
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
            waiting += ((key, cell.cell_contents, depth + 1) for key, cell in cells if _full(cell))
        elif hasattr(value, "__dict__"):
            waiting += ((f"{name}.{k}", v, depth + 1) for k, v in _attributes(value))


def _attributes(value):
    held = list(vars(value).items())
    return [(k, v) for k, v in held if not k.startswith("_") or isinstance(v, torch.Tensor)]


def _full(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:  # not filled yet
        return False


def variables(frame: FrameType | None) -> tuple[dict[int, str], list[torch.Tensor]]:
    """The tensors that the user's variables on the stack hold: the shortest name by id, and all."""
    names: dict[int, str] = {}
    tensors: dict[int, torch.Tensor] = {}
    for space in _spaces(frame):
        for variable, value in list(space.items()):
            if SHELL.fullmatch(variable):  # IPython's own copies of cells and results
                continue
            with suppress(Exception):  # an object that cannot be inspected
                for name, tensor in held_tensors(value, variable):
                    tensors[id(tensor)] = tensor
                    if len(name) < len(names.get(id(tensor), name + " ")):
                        names[id(tensor)] = name
    return names, list(tensors.values())


def modules(frame: FrameType | None) -> list[torch.nn.Module]:
    """The modules that the user's variables on the stack hold, or attributes of these."""
    found = {}
    for space in _spaces(frame):
        for value in list(space.values()):
            held = [value]
            if not isinstance(value, (ModuleType, type)):
                with suppress(Exception):  # an object without attributes, or one that is shy
                    held += vars(value).values()
            found.update((id(m), m) for m in held if isinstance(m, torch.nn.Module))
    return list(found.values())


def _spaces(frame):
    """The local and global variables of the user's frames."""
    spaces = {}
    while frame is not None:
        if owner(frame.f_code) == "user":
            spaces[id(frame.f_globals)] = frame.f_globals
            spaces[id(frame)] = frame.f_locals
        frame = frame.f_back
    return list(spaces.values())
