"""Formulas that a reader types, as functions of x.

Python reads and evaluates them, but only after a check: every part of a formula is one of those
that this module lists, so nothing else of Python or torch can be reached from here.
"""

import ast
import math
import re
from difflib import get_close_matches
from functools import partial
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
CONSTANTS = {name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}
MODULES = ("torch", "math", "F", "nn", "torch.nn", "nn.functional", "torch.nn.functional")
OTHER_MODULES = ("np", "numpy")
JOINS = ast.BitAnd, ast.BitOr, ast.Invert
PARTS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Load,
    ast.UnaryOp, ast.UAdd, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod,
    ast.FloorDiv, ast.Pow, *JOINS,
    ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip
INSTEAD = {
    ast.BitXor: "for a power write `x**2`, not `x^2`",
    ast.BoolOp: "write `&` for and, `|` for or: `(x > 0) & (x < 1)`",
    ast.Not: "write `~` for not: `~(x > 0)`",
    ast.IfExp: "write `where(x > 0, a, b)` for `a if x > 0 else b`",
}
LONGEST = 200  # characters
MOST_NAMES = 4
TRIED = torch.ones(2, dtype=torch.float64)  # a formula is tried at once with this x


class FormulaError(ValueError):
    """What is wrong with a formula, or what is still missing, in one line."""


class Formula:
    """A formula in x and free names, such as `x * sigmoid(a * x)`, as a function.

    It may use numbers, arithmetic, comparisons, the functions in `FUNCTIONS`, also as torch.sin(x)
    or x.sin(), and the constants of math. All other names are free: `names` has them in the order
    in which they appear. Called with x, a tensor of one dimension or more, and a value for each
    name, it returns a tensor like x. Raises FormulaError, in one line, for everything else.

    >>> Formula("a * x**2")(torch.tensor([1.0, 3.0]), a=2.0)
    tensor([ 2., 18.])
    """

    def __init__(self, text: str):
        checked = _Checked(text)
        self.has_x = "x" in checked.names
        self.names = tuple(name for name in checked.names if name != "x")
        if len(self.names) > MOST_NAMES:
            raise FormulaError(f"at most {MOST_NAMES} free names, not {', '.join(self.names)}")
        self._code, self._known = checked.code, NAMESPACE | checked.numbers
        try:
            self(TRIED, **dict.fromkeys(self.names, 1.0))
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:
            raise FormulaError(_first_line(error)) from None

    def __call__(self, x: torch.Tensor, /, **values: float) -> torch.Tensor:
        y = eval(self._code, self._known, {**_as_tensors(values), "x": x})
        if not isinstance(y, torch.Tensor):  # where(x) makes a tuple
            raise FormulaError("a formula has to make one number for each x")
        y = y.to(x.dtype)  # boolean is a comparison, and float64 what numbers alone make
        return y if y.dim() else torch.full_like(x, y.item())


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


def _as_tensors(numbers):
    """Numbers are computed as torch computes them: 1 / 0 is inf, and round(0.5) is 0."""
    return {
        name: torch.tensor(float(number), dtype=torch.float64) for name, number in numbers.items()
    }


def _call(name, *arguments, **options):
    """A function of torch. Most take numbers beside x as numbers only; none may overwrite x."""
    first = [argument.clone() for argument in arguments[:1]]
    others = arguments[1:]
    if name not in TENSORS_ONLY:
        others = map(_number, others)
        options = {option: _number(value) for option, value in options.items()}
    return FUNCTIONS[name](*first, *others, **options)


def _number(value):
    if isinstance(value, str) or value.dim():
        return value
    number = value.item()
    return int(number) if float(number).is_integer() else number


NAMESPACE = {
    "__builtins__": {},
    **_as_tensors(CONSTANTS),
    **{name: partial(_call, name) for name in FUNCTIONS},
}


class _Checked(ast.NodeTransformer):
    """A text as code, if each part of it may stand in a formula.

    code     an expression, in which modules and methods are plain functions: sin(x) for x.sin()
    numbers  the numbers in it, by the names that they have in the code
    names    all other names, x among them, in the order in which they appear
    """

    def __init__(self, text):
        self.numbers, self.names = {}, {}
        tree = ast.Expression(self.visit(_parsed(text)))
        self.code = compile(ast.fix_missing_locations(tree), "<formula>", "eval")

    def visit(self, node):
        parts = [node, *getattr(node, "ops", [getattr(node, "op", node)])]
        for part in parts:
            if type(part) in INSTEAD:
                raise FormulaError(INSTEAD[type(part)])
        if not all(isinstance(part, PARTS) for part in parts):
            raise _not_here(node)
        sides = [side for side in ast.iter_child_nodes(node) if isinstance(side, ast.expr)]
        chained = isinstance(node, ast.Compare) and len(node.ops) > 1
        if chained or isinstance(parts[-1], JOINS) and not all(map(_is_condition, sides)):
            raise FormulaError("`&`, `|` and `~` join comparisons in brackets: `(x > 0) & (x < 1)`")
        return super().visit(node)

    def visit_Constant(self, node):
        if type(node.value) not in (int, float):
            raise _not_here(node)
        name = f"_{len(self.numbers)}"  # nobody can type it
        self.numbers |= _as_tensors({name: node.value})
        return ast.Name(name, ast.Load())

    def visit_Name(self, node):
        if node.id not in CONSTANTS:
            if node.id != "x":
                _check_name(node.id)
            self.names[node.id] = None
        return node

    def visit_Attribute(self, node):
        name = _without_module(node)
        if name in CONSTANTS:
            return ast.Name(name, ast.Load())
        if node.attr in FUNCTIONS:
            raise FormulaError(f"half typed: `{node.attr}` is a function: write `{node.attr}(…)`")
        raise FormulaError(f"`.{node.attr}` cannot be typed here, only a function: x.abs()")

    def visit_Call(self, node):
        name, before = _without_module(node.func), []
        if name is None and isinstance(node.func, ast.Attribute):  # x.abs()
            name, before = node.func.attr, [node.func.value]
        if name not in FUNCTIONS:
            raise FormulaError(_no_function(name))
        arguments = [self.visit(argument) for argument in (*before, *node.args)]
        options = [self.visit(option) for option in node.keywords]
        return ast.Call(ast.Name(name, ast.Load()), arguments, options)

    def visit_keyword(self, node):
        if node.arg is None:
            raise FormulaError("write the options one by one: clamp(x, min=-1, max=1)")
        if node.arg == "out":
            raise FormulaError("leave out `out`: a formula overwrites nothing")
        if node.arg == "approximate" and isinstance(node.value, ast.Constant):  # of gelu, a word
            return node
        return self.generic_visit(node)


def _not_here(node):
    kind = ast.unparse(node)
    return FormulaError(f"only arithmetic, comparisons and functions can be typed, not {kind}")


def _is_condition(node):
    return isinstance(node, ast.Compare) or isinstance(getattr(node, "op", None), JOINS)


def _without_module(node):
    """`sin` for the nodes of sin, torch.sin and torch.nn.functional.sin; None for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in MODULES:
        return node.attr
    return None


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
