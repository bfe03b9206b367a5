"""What a lesson is made of: predictions, errors that stay alive, exercises that are checked."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from helpers.exercises import EXERCISES
from helpers.exercises.exercise import Exercise, NotDone, Wrong


@contextmanager
def expect_error(kind: type[Exception], match: str) -> Iterator[None]:
    """Print the first sentence of the error that the block raises, and go on.

    Raises AssertionError if the block raises nothing, an error of another kind, or one whose
    message does not contain the text `match`.

    >>> with expect_error(ZeroDivisionError, match="by zero"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    try:
        yield
    except Exception as error:
        line = _first_sentence(error)
        if not isinstance(error, kind):
            raise AssertionError(f"expected {kind.__name__}, but got {line}") from error
        if match not in str(error):
            raise AssertionError(f"expected a message with {match!r}, but got {line}") from error
    else:
        raise AssertionError(f"expected {kind.__name__}, but nothing was raised")
    print(line)


@contextmanager
def expect_warning(kind: type[Warning], match: str) -> Iterator[None]:
    """Print the first sentence of the warning that the block gives. Others pass through.

    Raises AssertionError if there is no warning of this kind with `match` in its message.

    >>> with expect_warning(UserWarning, match="careful"):
    ...     warnings.warn("be careful")
    UserWarning: be careful
    """
    expected, before = [], torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # or a cell that is run again would get no warning
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        torch.set_warn_always(before)
        for warning in caught:
            if issubclass(warning.category, kind) and match in str(warning.message):
                expected.append(warning)
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
    if not expected:
        raise AssertionError(f"expected {kind.__name__} with {match!r}, but no such warning came")
    print(_first_sentence(expected[0].message))


def _first_sentence(error):
    """What follows it is advice, and torch words it anew from version to version."""
    line = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
    return re.split(r"(?<=\.) (?=[A-Z(])", line)[0].strip()


def predict(question: str, options: Mapping[object, str], answer: object) -> Prediction:
    """Ask before showing: radio buttons, and for each option a line on why it is right or wrong.

    The right option is the one equal to `answer`, which should be measured, not typed: then the
    question cannot go stale. Tensors are compared as lists. `code` in the question and in the
    explanations is set as code. Raises ValueError unless exactly one option is right.

    >>> predict("What is 1 + 1?", {2: "Right.", 11: "That joins strings."}, answer=1 + 1)
    What is 1 + 1?
      ( ) 2
      ( ) 11
    """
    return Prediction(question, options, answer)


class Prediction:
    """A question that shows itself; `choice` holds the radio buttons."""

    def __init__(self, question, options, answer):
        import ipywidgets  # here, because checking exercises needs no widgets

        if hasattr(answer, "tolist"):  # a tensor, or something of NumPy
            answer = answer.tolist()
        right = [option for option in options if option == answer or str(option) == str(answer)]
        if len(right) != 1:
            raise ValueError(
                f"one option has to equal the answer {answer!r}, but {len(right)} of "
                f"{list(options)} do"
            )
        self.right, self.explanations = str(right[0]), {str(o): why for o, why in options.items()}
        self.question = question
        self.choice = ipywidgets.RadioButtons(
            options=list(self.explanations), value=None, layout={"width": "max-content"}
        )
        self.explanation = ipywidgets.HTML()
        self.choice.observe(self._explain, "value")
        self.box = ipywidgets.VBox(
            [ipywidgets.HTML(f"<b>{_as_html(question)}</b>"), self.choice, self.explanation]
        )

    def _explain(self, change):
        if change.new is None:
            self.explanation.value = ""
            return
        mark = "✓" if change.new == self.right else "✗"
        why = _as_html(self.explanations[change.new])
        self.explanation.value = f'<div role="status">{mark} {why}</div>'

    def __repr__(self):
        return "\n".join([self.question, *(f"  ( ) {option}" for option in self.explanations)])

    def _repr_mimebundle_(self, **kwargs):
        return {**self.box._repr_mimebundle_(**kwargs), "text/plain": repr(self)}


def _as_html(text):
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def exercise(number: str) -> Exercise:
    """The card of an exercise: what to do, how long it takes, and hints to unfold.

    >>> exercise("04.1").title
    'A clamp that leaks'
    """
    if number not in EXERCISES:
        raise ValueError(f"there is no exercise {number!r}, only {', '.join(EXERCISES)}")
    return EXERCISES[number]


def check(number: str, answer: object) -> None:
    """Print one line: ✓, or ✗ with where it fails, yours and what was expected.

    A wrong or a broken answer never raises, so Run All gets past it.

    >>> check("04.1", ...)
    … 04.1 is not done yet: write your answer and run this cell again.
    """
    card = exercise(number)
    try:
        card.check(answer)
    except NotDone:
        print(f"… {number} is not done yet: write your answer and run this cell again.")
    except Wrong as wrong:
        print(f"✗ {number} {wrong}")
    except Exception as error:
        line = str(error).partition("\n")[0]
        print(f"✗ {number} your code raised {type(error).__name__}: {line}")
    else:
        print(f"✓ {number} {card.praise}")
