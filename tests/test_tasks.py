"""A task and its hints say what the check looks at: the names, the numbers and the formulas."""

import re
from functools import cache

import nbformat
import pytest
import torch
from answers import CHECKS, solutions

from helpers.explore.drawings.drawing import arguments_of
from lessons.asking.checking import judge
from lessons.round_and_clamp.exercises import FIVE_POINTS
from lessons.six_estimators.exercises import TOLERANCE
from lessons.surrogate_gradients.exercises import MOST_STEPS, STARTS
from lessons.surrogate_gradients.stairs import EDGES
from lessons.train_through_rounding.exercises import ENOUGH
from tools.notebooks import lesson_of, notebook_files

HINT = re.compile(r"<details><summary>Hint (\d)</summary>(.*?)</details>", re.DOTALL)


@cache
def cells_of(number):
    """The text of the task, {k: hint k}, and the code of the stub and of the solution."""
    lesson, _, position = number.partition(".")
    (path,) = (path for path in notebook_files() if lesson_of(path) == lesson)
    cells = {cell.id: cell for cell in nbformat.read(path, 4).cells}
    found = cells[f"exercise-{position}"]
    hints = {int(k): text.strip() for k, text in HINT.findall(found.source)}
    rest = [cells[f"{found.id}-{part}"].source for part in ("answer", "solution")]
    return found.source.partition("<details>")[0], hints, *rest


def either(values, word):
    *others, last = [f"{value:,g}" for value in values]
    return f"{', '.join(others)} {word} {last}"


def tried_by(number, result):
    """The arguments that a check hands to an answer."""
    tried = []
    judge(number, lambda *args: tried.append(args) or result(*args))
    return tried


@pytest.mark.parametrize("number", CHECKS)
def test_the_stub_has_the_name_and_the_arguments_of_the_task(number):
    task, _, stub, _ = cells_of(number)
    (name,) = re.findall(rf'^check\("{number}", (\w+)\)$', stub, re.MULTILINE)
    assert re.search(rf"^(def |class )?{name}\b", stub, re.MULTILINE)
    if arguments := re.search(rf"^def {name}(\(.*\)):$", stub, re.MULTILINE):
        called = re.findall(rf"`{name}(\(.*?\))?`", task)
        assert called[:1] in ([arguments[1]], [""]), f"the task calls {name} in another way"
        wanted, or_any = arguments_of(solutions()[number])
        assert or_any or list(wanted) == re.findall(r"\w+", arguments[1])


NUMBERS = {  # what a task says, made from what its check uses
    "round_and_clamp.1": [f"`{fn.__name__}` at {x:g}" for _, fn, x, _ in FIVE_POINTS],
    "surrogate_gradients.1": [f"the edges are at {either(EDGES.tolist(), 'and')}"],
    "surrogate_gradients.2": [
        f"starts at {either(STARTS, 'and')}",
        f"in at most {MOST_STEPS} steps",
    ],
    "surrogate_gradients.3": ["mean 0, standard deviation 1", "two decimals"],
    "train_through_rounding.1": [f"at least {ENOUGH} %", "2 bits", "a quarter of"],
    "six_estimators.2": [f"at most {TOLERANCE - 1:.0%} larger"],
}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_task_states_the_numbers_of_its_check(number):
    task, _, stub, _ = cells_of(number)
    assert [said for said in NUMBERS[number] if said not in task] == []
    if number == "round_and_clamp.1":
        points = [said.replace("`", "") for said in NUMBERS[number]]
        assert ", ".join(points) in stub
        assert points == [where for where, *_ in FIVE_POINTS]


def test_a_task_states_the_samples():
    samples = [
        n for (n,) in tried_by("six_estimators.2", lambda n: solutions()["six_estimators.2"](n))
    ]
    assert either(samples, "or") in cells_of("six_estimators.2")[0]


VALUES = {  # the formula of the value, as the task spells it
    "override_backward.1": "x.clamp(0, 1)",
    "override_backward.2": "x.round() * weight",
    "train_through_rounding.2": "clamp(round(x / scale), low, high) * scale",
    "gradient_atlas.1": "torch.hypot(a, b)",
    "the_report_card.1": "x * torch.sigmoid(1.702 * x)",
    "compile_precision_memory.1": "torch.sign(x)",
}


@pytest.mark.parametrize("number", VALUES)
def test_the_formula_in_the_task_is_what_the_check_expects(number):
    formula, right, compared = VALUES[number], solutions()[number], []
    assert f"`{formula}`" in cells_of(number)[0]
    names = re.findall(r"\w+", cells_of(number)[2].partition("def ")[2].partition(":")[0])[1:]

    def compare(*args):
        y = right(*args)
        if not compared:  # later calls may be inside of transforms
            known = {"torch": torch, "round": torch.round, "clamp": torch.clamp}
            said = eval(formula, {**known, **dict(zip(names, args, strict=True))})
            compared.append(torch.allclose(said, y))
        return y

    assert judge(number, compare).sign == "✓" and compared == [True]
