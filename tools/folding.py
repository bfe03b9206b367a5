"""Fold what a reader should not see yet, or need not see, in the cells of a notebook."""

import ast
import itertools
import re

from tools.notebooks import (
    EXERCISE,
    OUTPUTS_HIDDEN,
    SETUP,
    SOURCE_HIDDEN,
    UNFOLDED,
    is_solution,
    sections,
)
from tools.reading import EXPLORERS, asked_by, calls, prose, texts_of, tree

WORD = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|[^\W\d]\w*")


def fold(notebook) -> None:
    """In place. An output stays open if its cell's metadata says why it is `unfolded`."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and (is_solution(cell) or teaches_nothing(cell)):
            _hide(cell, SOURCE_HIDDEN)
    for cell in (*_answers(notebook), *_below_questions(notebook)):
        if UNFOLDED not in cell.metadata:
            _hide(cell, OUTPUTS_HIDDEN)
    for cell in filter(is_solution, notebook.cells):
        _hide(cell, OUTPUTS_HIDDEN)  # no ✓ stands below a learner's ✗


def _hide(cell, part):
    cell.metadata.setdefault("jupyter", {})[part] = True


def teaches_nothing(cell) -> bool:
    """Does its code only import, ask a question or arrange an explorer?

    The function that an explorer shows stands in a cell above.
    """
    defines = any(isinstance(each, (ast.FunctionDef, ast.ClassDef)) for each in tree(cell).body)
    explores = calls(cell, *EXPLORERS) and not defines and not EXERCISE.search(cell.source)
    return bool(cell.id == SETUP or explores or calls(cell, "predict"))


def code_below_questions(notebook):
    """(cell, {right options asked for above it in its section}, whether it is the first output)."""
    for _, cells in sections(notebook):
        right, is_next = set(), False
        for cell in (cell for cell in cells if cell.cell_type == "code"):
            if asked := asked_by(cell):
                right, is_next = right | {question["right"] for question in asked}, True
                continue
            yield cell, right, is_next
            is_next &= not texts_of(cell)


def _answers(notebook):
    """The first output below a question, and each other one with the words of a right option."""
    for cell, right, is_next in code_below_questions(notebook):
        shown = texts_of(cell)
        if (shown and is_next) or any(has_words(shown, option) for option in right):
            yield cell


def _below_questions(notebook):
    """What shows something between Markdown that ends with a question and the next Markdown.

    If the reader answers it by `predict`, the outputs above are the ones that count.
    """
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and prose(cell.source).rstrip(" \n*)").endswith("?"):
            rest = notebook.cells[number + 1 :]
            below = list(itertools.takewhile(lambda each: each.cell_type == "code", rest))
            if not any(calls(each, "predict") for each in below):
                yield from (
                    each for each in below if texts_of(each) and not calls(each, *EXPLORERS)
                )


def words_of(text):
    """`y[2.00, 3.]` and `y: 2 3` have the same words."""
    words = []
    for word in WORD.findall(text):
        try:
            words.append(f"{float(word):g}")
        except ValueError:
            words.append(word)
    return words


def has_words(text: str, answer: str) -> bool:
    return f" {' '.join(words_of(answer))} " in f" {' '.join(words_of(text))} "
