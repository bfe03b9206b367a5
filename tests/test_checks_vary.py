"""A check tries two sizes, two values of each argument, and float32 and float64.

So an answer that is right for the first call alone is refused. And whatever is returned, no check
says that the learner's code raised an error where the check itself did.
"""

import functools
from numbers import Real

import pytest
import torch
from answers import CHECKS, solutions

from helpers.explore.drawings.drawing import arguments_of
from lessons.asking.checking import judge
from lessons.asking.registry import NotDone, Wrong

NO_TENSOR = {
    "round_and_clamp.1",
    "round_and_clamp.2",
    "surrogate_gradients.1",
    "surrogate_gradients.3",
    "six_estimators.2",
    "custom_operators.2",
}  # among the arguments
TRIED = [number for number in CHECKS if number not in NO_TENSOR]
CLASSES = {
    "parameter_or_variable.1",
    "errors_and_wrong_numbers.2",
}  # what is handed in is the class of a module
FUNCTIONS = [
    number
    for number in CHECKS
    if number
    not in {
        *CLASSES,
        "round_and_clamp.1",
        "round_and_clamp.2",
        "surrogate_gradients.3",
        "custom_operators.2",
    }
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("number", TRIED)
def test_an_answer_for_one_dtype_alone_is_refused(number, dtype):
    (other,) = {torch.float32, torch.float64} - {dtype}

    def fits(args):
        return other not in {each.dtype for each in tensors_in(args)}

    assert refused(number, only_where(solutions()[number], fits))


@pytest.mark.parametrize("number", FUNCTIONS)
def test_an_answer_with_a_fixed_argument_is_refused(number):
    """A number, or the function f, that is that of the first call in all others."""
    first = []
    judge(number, lambda *args: first or first.extend(args))
    names, _ = arguments_of(solutions()[number])
    for place, name in enumerate(names):
        if name == "f" or (place < len(first) and isinstance(first[place], Real)):

            def fixed(*args, place=place):
                return solutions()[number](*args[:place], first[place], *args[place + 1 :])

            assert refused(number, fixed), f"{name} had the one value {first[place]}"


ODD = {
    "a text": lambda y: "0.5",
    "a pair of tensors": lambda y: (torch.ones(2), torch.ones(())),
    "bools": lambda y: each_tensor(y, torch.Tensor.bool),
    "no history": lambda y: each_tensor(y, torch.Tensor.detach),
    "a row more": lambda y: each_tensor(y, lambda t: t[None]),
    "nan": lambda y: each_tensor(y, lambda t: t * torch.nan),
}


def each_tensor(y, change):
    if isinstance(y, (list, tuple)):
        return type(y)(each_tensor(part, change) for part in y)
    return change(y) if isinstance(y, torch.Tensor) else y


@pytest.mark.parametrize("number", ["parameter_or_variable.1", *FUNCTIONS])
def test_a_check_never_blames_the_answer_for_its_own_error(number):
    right = solutions()[number]
    for kind, make in ODD.items():
        if number in CLASSES:
            forward = {"forward": lambda *args, make=make: make(right.forward(*args))}
            odd = type("Odd", (right,), forward)
        else:
            odd = lambda *args, make=make: make(right(*args))  # noqa: E731
        assert "your code raised" not in repr(judge(number, odd)), kind
