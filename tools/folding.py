"""Fold what a reader should not see yet, or need not see, in the cells of a notebook."""

import ast
import itertools
import re

from tools.notebooks import OUTPUTS_HIDDEN, SOURCE_HIDDEN, UNFOLDED, is_solution, sections
from tools.reading import EXPLORERS, asked_by, calls, is_call, prose, texts_of, tree

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
    """Does its code only ask a question or arrange sliders below a drawing?

    An explorer of a function shows the function in its code.
    """
    body = tree(cell).body
    alone = len(body) == 1 and isinstance(body[0], ast.Expr) and is_call(body[0].value, "explore")
    return bool(calls(cell, "predict") or alone and drawings_made_in(cell))


def drawings_made_in(cell) -> set[str]:
    made = [node.func for node in ast.walk(tree(cell)) if isinstance(node, ast.Call)]
    names = {getattr(function, "id", getattr(function, "attr", "")) for function in made}
    return {name for name in names if name.endswith("Drawing")}


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
