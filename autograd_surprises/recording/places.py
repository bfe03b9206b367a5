"""Lines of Python code: whose they are, and how they are shown."""

from __future__ import annotations

import linecache
import os
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType, TracebackType

import torch

TORCH_FOLDER = str(Path(torch.__file__).parent) + os.sep
PACKAGE = Path(__file__).parent.parent
DOCTOR = tuple(
    str(PACKAGE / name) for name in ("recording", "backward", "symptoms", "doctor", "comparing")
)
# The packages of this project count as libraries: in a checkout they lie side by side.
OURS = [str(PACKAGE.with_name(name)) + os.sep for name in (PACKAGE.name, "helpers", "lessons")]
INSTALLED = "site-packages" + os.sep
LIBRARIES = (*OURS, INSTALLED, sysconfig.get_paths()["stdlib"] + os.sep)


@dataclass(frozen=True)
class Where:
    """A line of Python code, and the path of the module whose forward was running, or "".

    inside  the line in a library where it happened, if the user's line only led there
    kind    the class of that module, or ""

    >>> str(Where("train.py", 7, "11", kind="ReLU"))
    'train.py:7  (in 11: ReLU)'
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
    def is_numbered(self) -> bool:
        """Is the module one of an nn.Sequential or nn.ModuleList?"""
        return self.module.rpartition(".")[2].isdigit()

    @property
    def layer(self) -> str:
        """The module as print(model) shows it: "first", but "11: ReLU" in an nn.Sequential."""
        return f"{self.module}: {self.kind}" if self.is_numbered else self.module

    @property
    def code(self) -> str:
        """File name, line and source."""
        return f"{self.short}: {self.source}" if self.source else self.short

    def __str__(self):
        inside = f", inside {self.inside}" if self.inside else ""
        module = f"  (in {self.layer})" if self.module else ""
        code = self.code.rstrip(",") if self.inside else self.code  # one comma is enough
        return f"{code}{inside}{module}"


_owners: dict[int, tuple[CodeType, str]] = {}  # by id: hashing the code of a long function is slow


def owner(code: CodeType) -> str:
    """Whose code this is: torch's (the doctor's own counts as that), a library's, or the user's."""
    known = _owners.get(id(code))
    if known is None:
        known = _owners[id(code)] = code, owner_of(code.co_filename)
    return known[1]


def owned_by_torch(code: CodeType) -> None:
    """Take this code for torch's, whatever its file."""
    _owners[id(code)] = code, "torch"


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


def frame_of(code: CodeType | None, frame: FrameType | None) -> FrameType | None:
    """The innermost frame that runs this code, from `frame` outwards."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


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
            return where_defined(frame.f_locals["func"].__code__)
        frame = frame.f_back
    return where_from(caller)


def place_of(line: CodeLine, module: str = "", kind: str = "") -> Where:
    """The place that a code line stands for."""
    code, number, inner, inner_number = line
    inside = Where(inner.co_filename, inner_number) if inner else None
    return Where(code.co_filename, number, module, inside, kind)


def where_defined(code: CodeType) -> Where:
    """The first line of a function."""
    return Where(code.co_filename, code.co_firstlineno)


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
