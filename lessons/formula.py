"""Formulas that a reader types: read as functions of x, and never run as Python.

Only what this module lists can be typed. The text is parsed into a tree, and each node of the tree
that is known is computed; there is no way from here to anything else of Python or torch.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from difflib import get_close_matches
from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F

from helpers.explore.printing import silence
from helpers.functions import value_with_gradient_of

ELEMENTWISE = """
    abs acos acosh asin asinh atan atan2 atanh ceil celu clamp clamp_max clamp_min copysign cos cosh
    detach digamma elu erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod frac gelu hardshrink
    hardsigmoid hardswish hardtanh heaviside hypot leaky_relu lgamma log log10 log1p log2 logaddexp
    logit logsigmoid maximum minimum mish nan_to_num ones_like pow reciprocal relu relu6 remainder
    round rsqrt selu sgn sigmoid sign silu sin sinc sinh softplus softshrink softsign sqrt square
    tan tanh tanhshrink trunc where xlogy zeros_like
"""
FUNCTIONS = {name: getattr(torch, name, None) or getattr(F, name) for name in ELEMENTWISE.split()}
TENSORS_ONLY = {
    "atan2", "copysign", "fmax", "fmin", "heaviside", "hypot", "logaddexp", "maximum", "minimum",
    "where",
}  # fmt: skip
OPTIONS = {  # that can be named; another one would make another kind of tensor, or overwrite one
    "alpha", "approximate", "beta", "decimals", "eps", "exponent", "input", "lambd", "max",
    "max_val", "min", "min_val", "nan", "neginf", "negative_slope", "other", "posinf", "threshold",
    "values",
}  # fmt: skip
CONSTANTS = {name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}
MODULES = ("torch", "math", "F", "nn", "torch.nn", "nn.functional", "torch.nn.functional")
OTHER_MODULES = ("np", "numpy")
ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow,
}  # fmt: skip
CONDITIONS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
JOINED = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_}
INSTEAD = {
    ast.BitXor: "for a power write `x**2`, not `x^2`",
    ast.BoolOp: "write `&` for and, `|` for or: `(x > 0) & (x < 1)`",
    ast.Not: "write `~` for not: `~(x > 0)`",
    ast.IfExp: "write `where(x > 0, a, b)` for `a if x > 0 else b`",
}
LONGEST = 200  # characters
LARGEST = 2**63  # for torch, a whole number is smaller
MOST_NAMES = 4
TRIED = torch.ones(2, dtype=torch.float64)  # a formula is tried at once with this x


def _before_inplace(function):
    """How many arguments come before `inplace`; None if a function has none of this name."""
    try:
        names = [*inspect.signature(function).parameters]
    except ValueError:  # written in C, and overwrites nothing
        return None
    return names.index("inplace") if "inplace" in names else None


MOST_ARGUMENTS = {
    name: count
    for name, function in FUNCTIONS.items()
    if (count := _before_inplace(function)) is not None
}
_OVERWRITES = "leave out `{}`: a formula overwrites nothing"


class FormulaError(ValueError):
    """What is wrong with a formula, or what is still missing, in one line."""


class Formula:
    """A formula in x and free names, such as `x * sigmoid(a * x)`, as a function.

    It may use numbers, arithmetic, comparisons, the functions in `FUNCTIONS`, also as torch.sin(x)
    or x.sin(), and the constants of math. All other names are free: `names` has them in the order
    in which they appear. Called with x and a value for each name, it returns a tensor like x.
    Raises FormulaError, in one line, for everything else.

    >>> Formula("a * x**2")(torch.tensor([1.0, 3.0]), a=2.0)
    tensor([ 2., 18.])
    """

    def __init__(self, text: str):
        self._tree, found = _parsed(text), {}
        try:
            _result(TRIED, _value(self._tree, _Named(found)))
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            raise FormulaError(_first_line(error)) from None
        self.has_x = found.pop("x", None) is not None
        self.names = tuple(found)
        if len(self.names) > MOST_NAMES:
            raise FormulaError(f"at most {MOST_NAMES} free names, not {', '.join(self.names)}")

    def __call__(self, x: torch.Tensor, /, **values: float) -> torch.Tensor:
        return _result(x, _value(self._tree, {**values, "x": x}))


def _result(x, y):
    if not isinstance(y, (torch.Tensor, int, float)):
        raise FormulaError("a formula has to make one number for each x")
    y = _real(y)
    return y if isinstance(y, torch.Tensor) else torch.full_like(x, y)


class Typed(NamedTuple):
    """The text of a formula, and that of a gradient to return in place of its own, if any.

    >>> Typed("round(x / s) * s", gradient="1").names
    ('s',)
    """

    formula: str
    gradient: str = ""

    @property
    def caption(self) -> str:
        """Both as one text."""
        own = self.gradient.strip()
        return self.formula.strip() + (f", gradient {own}" if own else "")

    @property
    def names(self) -> tuple[str, ...]:
        """The free names of both."""
        formula, gradient = self._read()
        return tuple(dict.fromkeys([*formula.names, *(gradient.names if gradient else ())]))

    def function(self, /, **values: float):
        """The function of x that has these values for its free names.

        The gradient is multiplied by the upstream gradient, as that of each operation is.

        >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
        >>> torch.autograd.grad(Typed("round(x)", "a * x").function(a=2.0)(x).sum(), x)
        (tensor([0.8000, 3.2000]),)
        """
        formula, gradient = self._read()

        def the_formula(x):
            y = formula(x, **_of(formula, values))
            if gradient is None:
                return y
            slope = gradient(x, **_of(gradient, values)).detach()
            return value_with_gradient_of(y, slope * x)

        the_formula.__name__ = "the formula"
        return the_formula

    def _read(self):
        formula = Formula(self.formula)
        if not formula.has_x:
            raise FormulaError("the formula needs an `x`, because y has to depend on it")
        if not self.gradient.strip():
            return formula, None
        try:
            return formula, Formula(self.gradient)
        except FormulaError as error:
            raise FormulaError(f"in the gradient: {error}") from None


def _of(formula, values):
    return {name: values[name] for name in formula.names}


class _Named(dict):
    """Values with which a formula is tried: it notes each name in `found`, if it may be one."""

    def __init__(self, found):
        self._found = found

    def __missing__(self, name):
        if name != "x":
            _check_name(name)
        self._found[name] = TRIED if name == "x" else 1.0
        return self._found[name]


def _check_name(name):
    if name.startswith("_"):
        raise FormulaError(f"a name cannot begin with `_`, as `{name}` does")
    if name in MODULES:
        raise FormulaError(f"half typed: a function has to follow `{name}`, as in torch.sin(x)")
    if name in OTHER_MODULES:
        raise FormulaError(f"leave out `{name}`: write sin(x), not {name}.sin(x)")
    if name in FUNCTIONS:
        raise FormulaError(f"`{name}` is a function: write `{name}(…)`")
    begun = [other for other in FUNCTIONS if other.startswith(name)] if len(name) > 1 else []
    if begun:
        shown = ", ".join(begun[:4])
        raise FormulaError(f"half typed: `{name}` begins {shown}. As a free name, choose another")


def _parsed(text):
    text = text.strip()
    if not text:
        raise FormulaError("type a formula in x, such as x * sigmoid(a * x)")
    if len(text) > LONGEST:
        raise FormulaError(f"at most {LONGEST} characters, not {len(text)}")
    try:
        with silence():  # Python warns of 1or 2
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise FormulaError(_why_unreadable(text)) from None


def _why_unreadable(text):
    opened = text.count("(") - text.count(")")
    if re.search(r"(^|[-+*/(,])\s*\|", text):
        return "write `abs(x)`, not `|x|`"
    if ending := re.search(r"[-+*/%<>=&|,.~(]+$", text):
        return f"half typed: something has to follow `{ending[0]}`"
    if opened > 0:
        return "half typed: a `(` is not closed yet"
    if opened < 0:
        return "there is a `)` too many"
    if re.search(r"(?<![=!<>])=(?!=)", text):
        return "leave out `=`: type x**2, and not y = x**2; to compare, write =="
    if found := re.search(r"(\d|\))\s*[A-Za-z(]", text):
        return f"write `*` where two things are multiplied: 2 * x; here it says `{found[0]}`"
    if found := re.search(r"[^\x00-\x7F]", text):
        return f"`{found[0]}` cannot be read: type + - * / ** and names in ordinary letters"
    return f"this is no formula: {' '.join(text.split())}"


def _first_line(error):
    line = str(error).partition("\n")[0].partition(" - got")[0]
    return line if len(line) <= 160 else f"{line[:159]}…"


def _value(node, values):
    """What a node of the tree is: a tensor like x, a number, or a condition."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number if abs(number) < LARGEST else float(number)
        case ast.Name(id=name):
            return CONSTANTS[name] if name in CONSTANTS else values[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            inner = _real(_value(operand, values))
            return -inner if isinstance(node.op, ast.USub) else inner
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return _joined(operator.xor, [_value(operand, values), True])
        case ast.BinOp(op=op, left=left, right=right) if type(op) in ARITHMETIC:
            both = [_real(_value(side, values)) for side in (left, right)]
            return _applied(ARITHMETIC[type(op)], both)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in JOINED:
            return _joined(JOINED[type(op)], [_value(side, values) for side in (left, right)])
        case ast.Compare(left=first, ops=ops, comparators=others):
            sides = [_real(_value(side, values)) for side in (first, *others)]
            if all(type(op) in CONDITIONS for op in ops):
                pairs = zip(ops, sides, sides[1:], strict=False)
                return reduce(operator.and_, [CONDITIONS[type(op)](a, b) for op, a, b in pairs])
        case ast.Call():
            return _called(node, values)
        case ast.Attribute():
            name = _without_module(node)
            if name in CONSTANTS:
                return CONSTANTS[name]
            if node.attr in FUNCTIONS:
                raise FormulaError(
                    f"half typed: `{node.attr}` is a function: write `{node.attr}(…)`"
                )
            raise FormulaError(f"`.{node.attr}` cannot be typed here, only a function: x.abs()")
    for part in (node, getattr(node, "op", None)):
        if type(part) in INSTEAD:
            raise FormulaError(INSTEAD[type(part)])
    kind = ast.unparse(node)
    raise FormulaError(f"only arithmetic, comparisons and functions can be typed, not {kind}")


def _called(node, values):
    name = _without_module(node.func)
    before = []
    if name is None and isinstance(node.func, ast.Attribute):  # x.abs()
        name, before = node.func.attr, [node.func.value]
    if name not in FUNCTIONS:
        raise FormulaError(_no_function(name))
    arguments = [_value(argument, values) for argument in (*before, *node.args)]
    if name != "where":
        arguments = [_real(argument) for argument in arguments]
    if len(arguments) > MOST_ARGUMENTS.get(name, len(arguments)):
        raise FormulaError(_OVERWRITES.format("inplace"))
    options = {option.arg: _option(option, values) for option in node.keywords}
    if name in TENSORS_ONLY:
        are_numbers = not any(isinstance(each, torch.Tensor) for each in arguments)
        made = FUNCTIONS[name](*map(_tensor, arguments), **options)
        return made.item() if are_numbers else made
    return _applied(FUNCTIONS[name], arguments, options)


def _no_function(name):
    if name is None:
        return "write `*` between things that are multiplied: 2 * (x + 1)"
    if name.startswith("_"):
        return f"a name cannot begin with `_`, as `{name}` does"
    if len(name) == 1 or name in CONSTANTS:
        return f"write `{name} * (…)`: `{name}` is a number, not a function"
    longer = [other for other in FUNCTIONS if other.startswith(name)]  # maximum for max
    if not longer and any(hasattr(module, name) for module in (torch, F)):
        return f"`{name}` cannot be typed here: each y has to depend on its own x alone"
    close = longer or get_close_matches(name, FUNCTIONS, cutoff=0.7)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"there is no elementwise function `{name}` here{hint}"


def _option(option, values):
    """The value of an option: also a word, as in gelu(x, approximate='tanh')."""
    if option.arg is None:
        raise FormulaError("write the options one by one: clamp(x, min=-1, max=1)")
    if option.arg in ("out", "inplace"):
        raise FormulaError(_OVERWRITES.format(option.arg))
    if option.arg not in OPTIONS:
        raise FormulaError(f"there is no option `{option.arg}` here")
    if isinstance(option.value, ast.Constant) and isinstance(option.value.value, str):
        return option.value.value
    return _real(_value(option.value, values))


def _without_module(node):
    """`sin` for the nodes of sin, torch.sin and torch.nn.functional.sin; None for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in MODULES:
        return node.attr
    return None


def _applied(function, arguments, options=None):
    """Numbers are computed as torch computes them: 1 / 0 is inf, and round(0.5) is 0."""
    options = options or {}
    if any(isinstance(each, torch.Tensor) for each in arguments):
        return function(*arguments, **options)
    return function(*map(_tensor, arguments[:1]), *arguments[1:], **options).item()


def _joined(join, conditions):
    if all(map(_is_condition, conditions)):
        return join(*conditions)
    raise FormulaError("`&`, `|` and `~` join comparisons in brackets: `(x > 0) & (x < 1)`")


def _is_condition(value):
    return isinstance(value, bool) or (
        isinstance(value, torch.Tensor) and value.dtype == torch.bool
    )


def _real(value):
    """A condition as a number, 0 or 1."""
    if not _is_condition(value):
        return value
    return value.double() if isinstance(value, torch.Tensor) else float(value)


def _tensor(value):
    if isinstance(value, (torch.Tensor, bool)):
        return torch.as_tensor(value)
    return torch.tensor(float(value), dtype=torch.float64)
