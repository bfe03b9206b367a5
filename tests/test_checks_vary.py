"""A check tries two sizes, two values of each argument, and float32 and float64.

So an answer that is right for the first call alone is refused. And whatever is returned, no check
says that the learner's code raised an error where the check itself did.
"""

import functools
import inspect

import pytest
import torch
from notebook_solutions import solutions

from lessons.checking import judge
from lessons.exercises import CHECKS
from lessons.exercises.registry import NotDone, Wrong

FLOATS = torch.float32, torch.float64
NO_TENSOR = {  # the exercises without a tensor among the arguments, and what there is instead
    "03.1": "no function: five numbers",
    "03.2": "no function: a number",
    "06.1": "a function of a plain number",
    "06.3": "no function: a number",
    "12.2": "a function of a plain number",
}
CLASSES = {"01.1", "08.3"}  # what is handed in is the class of a module
TRIED = [number for number in CHECKS if number not in NO_TENSOR]
FUNCTIONS = [
    number
    for number in CHECKS
    if number not in CLASSES and not NO_TENSOR.get(number, "").startswith("no function")
]


class RightOnce(Exception):
    """The answer is asked for something it was not made for."""


def tensors_in(args):
    """The tensors in the arguments, in lists and modules, too."""
    for each in args:
        if isinstance(each, torch.Tensor):
            yield each
        elif isinstance(each, torch.nn.Module):
            yield from each.parameters()
        elif isinstance(each, (list, tuple)):
            yield from tensors_in(each)


def only_where(answer, fits):
    """The answer, or its forward if it is a module's class, if `fits(args)`; else it raises."""
    if isinstance(answer, type):
        forward = only_where(answer.forward, lambda args: fits(args[1:]))
        return type(answer.__name__, (answer,), {"forward": forward})

    @functools.wraps(answer, updated=())
    def partly(*args):
        if not fits(args):
            raise RightOnce
        return answer(*args)

    return partly


def refused(number, answer):
    """Does the check refuse this answer? Without the drawing, which calls it, too."""
    try:
        CHECKS[number].run(answer)
    except NotDone:
        raise
    except Exception as error:  # the report card names what was raised in an error of its own
        assert isinstance(error, Wrong) or "RightOnce" in repr(error), error
        return True
    return False


@pytest.mark.parametrize("number", TRIED)
def test_an_answer_for_the_first_size_alone_is_refused(number):
    seen = []

    def fits(args):
        shapes = [each.shape for each in tensors_in(args)]
        seen.append(shapes)
        return shapes == seen[0]

    assert refused(number, only_where(solutions()[number], fits))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("number", TRIED)
def test_an_answer_for_one_dtype_alone_is_refused(number, dtype):
    others = set(FLOATS) - {dtype}

    def fits(args):
        return not others & {each.dtype for each in tensors_in(args)}

    assert refused(number, only_where(solutions()[number], fits))


# what the exercises call the numbers and functions that they pass
PLAIN = {"i", "f", "start", "low", "high", "scale", "limit", "everywhere", "processes"}
PLAIN |= {"chosen", "cost", "samples", "beta"}
OTHERS = {"x", "y", "a", "b", "v", "u", "step", "weight", "weights", "batches", "model", "image"}
OTHERS |= {"target", "network", "tokens", "seen", "gradients", "parameters", "optimizer", "scaler"}
OTHERS |= {"loss", "blocks", "losses", "logits", "baseline", "z", "codes", "index", "args"}
OTHERS |= {"kwargs", "clamp"}  # clamp: torch.clamp as it is since 2.14, the only one there is


def plain_arguments():
    """(number, place, name) of each argument that is neither a tensor nor made of tensors."""
    for number in FUNCTIONS:
        for place, name in enumerate(inspect.signature(solutions()[number]).parameters):
            assert name in PLAIN | OTHERS, f"{number}: is {name} a tensor, or a plain value?"
            if name in PLAIN:
                yield number, place, name


@pytest.mark.parametrize("number, place, name", list(plain_arguments()))
def test_an_answer_with_a_fixed_argument_is_refused(number, place, name):
    seen = []

    def fixed(*args):
        args = list(args)
        seen.append(args[place])
        args[place] = seen[0]
        return solutions()[number](*args)

    assert refused(number, fixed), f"{name} had the one value {seen[0]}"


SPELLINGS = {  # the same answer, handed over in another way
    "a list": lambda y: list(y) if isinstance(y, tuple) else y,
    "a tuple": lambda y: tuple(y) if isinstance(y, list) else y,
    "a tensor of one number": lambda y: torch.tensor(y) if isinstance(y, float) else y,
}
ONE_NUMBER = {"06.1", "11.3"}  # the result is a plain number to the learner


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("number", [n for n in FUNCTIONS if n != "07.1"])  # which trains, slowly
def test_a_right_answer_is_right_in_each_spelling(number, spelling):
    CHECKS[number].run(lambda *args: SPELLINGS[spelling](solutions()[number](*args)))


@pytest.mark.parametrize("number", sorted(ONE_NUMBER))
@pytest.mark.parametrize("kind", [float, torch.tensor, lambda y: torch.tensor([y])])
def test_a_number_is_right_as_a_float_and_as_a_tensor(number, kind):
    CHECKS[number].run(lambda *args: kind(float(solutions()[number](*args))))


@pytest.mark.parametrize("number, tolerance", [("06.3", 5e-4), ("03.2", 0), ("06.1", 1e-5)])
def test_a_number_just_outside_of_the_tolerance_is_wrong(number, tolerance):
    def off(y, by):
        return float(y) + by

    def moved(by):
        return functools.partial(_moved, number, by) if number in FUNCTIONS else off(right, by)

    right = {"06.3": 0.6744898, "03.2": 1.0, "06.1": None}[number]
    for sign in (-1, 1):
        assert judge(number, moved(sign * (tolerance * 1.1 + 1e-9))).sign == "✗"
        assert judge(number, moved(sign * tolerance * 0.1)).sign == "✓"


def _moved(number, by, *args):
    return (1 + by) * float(solutions()[number](*args))


@pytest.mark.parametrize("number", [0.67, 0.674, 0.6745, 0.67449, torch.tensor(0.67)])
def test_half_width_takes_two_decimals_or_more(number):
    assert judge("06.3", number).sign == "✓"


@pytest.mark.parametrize("number", [0.65, 0.66, 2 / 3, 0.672, 0.6755, 0.68, 0.7, 0.6])
def test_half_width_takes_no_number_beside_it(number):
    assert judge("06.3", number).sign == "✗"


ODD = {
    "a text": lambda y: "0.5",
    "a number": lambda y: 0.5,
    "a list of numbers": lambda y: [0.5, 1.0],
    "an empty tuple": lambda y: (),
    "a pair of texts": lambda y: ("a", "b"),
    "a pair of tensors": lambda y: (torch.ones(2), torch.ones(())),
    "a dict": lambda y: {"y": y},
    "float32": lambda y: each_tensor(y, torch.Tensor.float),
    "float64": lambda y: each_tensor(y, torch.Tensor.double),
    "half": lambda y: each_tensor(y, torch.Tensor.half),
    "whole numbers": lambda y: each_tensor(y, lambda t: t.nan_to_num().long()),
    "bools": lambda y: each_tensor(y, torch.Tensor.bool),
    "complex": lambda y: each_tensor(y, lambda t: t + 0j),
    "no history": lambda y: each_tensor(y, torch.Tensor.detach),
    "a new leaf": lambda y: each_tensor(y, lambda t: t.detach().clone().requires_grad_()),
    "a row more": lambda y: each_tensor(y, lambda t: t[None]),
    "flat": lambda y: each_tensor(y, torch.Tensor.flatten),
    "empty": lambda y: each_tensor(y, lambda t: t.flatten()[:0]),
    "nan": lambda y: each_tensor(y, lambda t: t * torch.nan),
}


def each_tensor(y, change):
    if isinstance(y, (list, tuple)):
        return type(y)(each_tensor(part, change) for part in y)
    return change(y) if isinstance(y, torch.Tensor) else y


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("number", FUNCTIONS)
def test_a_check_never_blames_the_answer_for_its_own_error(number, kind):
    def odd(*args):
        return ODD[kind](solutions()[number](*args))

    assert "your code raised" not in repr(judge(number, odd))


@pytest.mark.parametrize("kind", ODD)
def test_a_check_never_blames_a_module_for_its_own_error(kind):
    line = solutions()["01.1"]

    class Odd(line):
        def forward(self, x):
            return ODD[kind](super().forward(x))

    assert "your code raised" not in repr(judge("01.1", Odd))


def test_an_error_outside_of_the_answer_says_what_was_returned():
    def overwritten(x):
        y = torch.sigmoid(x)  # backward needs its own result
        with torch.no_grad():
            return y.copy_(x.clamp(0, 1))

    assert judge("04.1", overwritten).why.startswith(
        "the check cannot use what your code returned, a float32 tensor of shape (7,): "
        "RuntimeError: one of the variables needed for gradient computation has been modified"
    )


def test_an_error_of_the_answer_is_called_so():
    assert judge("02.1", lambda y, x, i: y @ x).why.startswith("your code raised RuntimeError in ")
    assert judge("04.1", torch.hypot).why.startswith("your code raised TypeError: ")  # no line
