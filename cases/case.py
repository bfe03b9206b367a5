"""A case is a training step: one with a gradient problem, or one with nothing wrong.

A patient is a function with a gradient problem, beside the right diagnosis and a cure. A healthy
step stands beside what the doctor may say of it.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

CURE = re.compile(r"  #[!:] (?=\S)")
CUT = "a cut leaves nothing behind in the graph: the trace sees it"
PATIENTS: dict[str, "Case"] = {}
CURED: dict[str, Callable[[], "Visit"]] = {}
HEALTHY: dict[str, "Case"] = {}


class Step(NamedTuple):
    """What a training script holds when it calls loss.backward()."""

    model: nn.Module
    compute: Callable[[], torch.Tensor]  # runs the forward pass and returns the loss
    optimizer: torch.optim.Optimizer | None = None


@dataclass(frozen=True)
class Visit:
    """What a patient brings: the arguments of explain()."""

    loss: torch.Tensor
    wrt: dict[str, torch.Tensor] | nn.Module | torch.optim.Optimizer
    model: nn.Module | None = None
    optimizer: torch.optim.Optimizer | None = None
    grad_outputs: torch.Tensor | None = None

    def tensors(self):
        if isinstance(self.wrt, nn.Module):
            return list(self.wrt.parameters())
        if isinstance(self.wrt, torch.optim.Optimizer):
            return [tensor for group in self.wrt.param_groups for tensor in group["params"]]
        return list(self.wrt.values())

    def backward(self):
        self.loss.backward(self.grad_outputs)


@dataclass(frozen=True, slots=True)  # with slots, the doctor's search for tensors stops at it
class Case:
    """A step of somebody's, and what is true of it; a patient has causes, a healthy step has none.

    source  where somebody reported or published it: an address, or ""
    build   called within a fixed seed; returns a Visit, or a Step as a healthy step does
    """

    name: str
    title: str
    library: str
    source: str
    file: Path
    build: Callable[[], Visit | Step]
    status: str  # of a patient
    said: str  # the status that the doctor can give: the same, unless nobody could know
    causes: tuple[str, ...]  # slugs; more than one where more than one is true
    also: tuple[str, ...]  # slugs that are true of it, too
    guilty: frozenset[int]  # numbers of the lines with the comment  #!
    missed: str  # why the doctor does not name the cause, nor the line, or ""
    missed_line: str  # why it does not name the line
    missed_alone: str  # why it does not name the cause without a trace
    true: frozenset[tuple[str, str]]  # (status, cause) of alarms that are true of a healthy step
    normal: frozenset[tuple[str, str]]  # of what else is said of it, beside "ok" and "partial"

    def is_guilty(self, where) -> bool:
        return where.line in self.guilty and Path(where.file).resolve() == self.file


def case(
    title="", status="", cause=(), *, library="torch", source="", said=None, also=(),
    missed="", missed_line="", missed_alone="", true=(), normal=(),
):  # fmt: skip
    """Register a function as a case of its name. Without a cause, it is a healthy step.

    `cause` is a slug, or a tuple of slugs. The comment  #!  marks the line that somebody has to
    edit; if two are equally right, mark both. Behind it, or behind  #:  at another line, stands
    the cure: another line, or what comes behind the = or `return` of this one, or - where the line
    has to go. A line that begins with  #:  is one that the cure adds. What the doctor is known to
    miss stands here with its reason; it has to go once it is found.
    """

    def register(function):
        name, found = function.__name__, PATIENTS if cause else HEALTHY
        if name in found:
            raise ValueError(f"two cases are called {name}")
        lines, first = inspect.getsourcelines(function)
        found[name] = Case(
            name=name,
            title=title,
            library=library,
            source=source,
            file=Path(inspect.getsourcefile(function)).resolve(),
            build=function if cause else lambda: Step(*function()),
            status=status,
            said=said or status,
            causes=(cause,) if isinstance(cause, str) else cause,
            also=also,
            guilty=frozenset(n for n, line in enumerate(lines, first) if "#!" in line),
            missed=missed,
            missed_line=missed_line or missed,
            missed_alone=missed_alone or missed,
            true=frozenset(true),
            normal=frozenset(normal),
        )
        if any(map(CURE.search, lines)):
            CURED[name] = lambda: _cured_twin(function)()
        return function

    return register


def _cured_twin(function):
    """The same, with each cure in place of its line."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent(cured_source("".join(lines))))
    tree.body[0].decorator_list = []
    names = dict(function.__globals__)
    code = compile(ast.increment_lineno(tree, first - 1), function.__code__.co_filename, "exec")
    exec(code, names)
    return names[function.__name__]


def cured_source(source: str) -> str:
    """The text of a patient with each cure in place of its line.

    >>> cured_source("    y = x.detach()  #! x * 2")
    '    y = x * 2'
    """
    return "\n".join(map(_cured_line, source.split("\n")))


def _cured_line(line):
    sick, *cures = CURE.split(line, maxsplit=1)
    indent = re.match(" *", line)[0]
    if not cures:
        return line
    (cure,) = cures
    if cure == "-":
        return f"{indent}pass"
    try:
        compile(cure, "", "eval")
        kept = re.match(r" *(?:return |[^=(]+ [-+*/]?= )", sick)
    except SyntaxError:
        kept = None
    return f"{kept[0] if kept else indent}{cure}"
