"""The rules that every notebook obeys. A rule takes a notebook and returns its complaints."""

import ast
import io
import re
import tokenize
from dataclasses import dataclass

import nbformat

from tools.folding import code_below_questions, has_words
from tools.notebooks import IGNORED, SOURCE_HIDDEN, headings, is_folded
from tools.reading import EXPLORERS, calls, is_call, prose, task_of, text_of, tree

RULES = []


def rule(function):
    RULES.append(function)
    return function


@dataclass
class Notebook:
    name: str
    node: nbformat.NotebookNode

    @classmethod
    def load(cls, path):
        return cls(path.name, nbformat.read(path, as_version=4))

    @property
    def cells(self):
        return self.node.cells

    @property
    def code(self):
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @property
    def outputs(self):
        return [(cell, output) for cell in self.code for output in cell.outputs]

    @property
    def tasks(self):
        return [task for cell in self.cells if (task := task_of(cell))]


@rule
def explorers_are_shown(notebook):
    return [
        f"{cell.id}: no picture in the stored output: end the cell with the explorer's name"
        for cell in notebook.code
        if calls(cell, *EXPLORERS)
        and not any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]


def titles_of(cell):
    """What its code, if one sees it, writes above a picture and its parts."""
    if is_folded(cell, SOURCE_HIDDEN):
        return
    for call in (node for node in ast.walk(tree(cell)) if isinstance(node, ast.Call)):
        yield from (ast.unparse(each.value) for each in call.keywords if each.arg == "title")
        if is_call(call, "set_title") or is_call(call, "suptitle"):
            yield from map(ast.unparse, call.args)


@rule
def exercises_have_two_hints(notebook):
    return [
        f"exercise {task.number}: a hint is missing" for task in notebook.tasks if task.hints < 2
    ]


@rule
def titles_do_not_answer_questions(notebook):
    return [
        f"{cell.id}: a title answers a question above it ({option!r}): say it in the prose"
        for cell, right, _ in code_below_questions(notebook.node)
        for option in right
        if has_words("\n".join(titles_of(cell)), option)
    ]


NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d|⁻)")
NOT_MEASURED = re.compile(
    r"\]\([^)]*\)|<https?:[^>]*>|^\|.*$"  # the address of a link; a table, which has its own cells
    r"|\b(19|20)\d\d\b|\b0\d\b|[Nn]otebook \d\d|[Ii]ssue \d+"
    r"|\b([Tt]orch|[Vv]ersion|[Ss]ince|[Uu]p to|Python|CC BY) \d+\.\d+( to \d+\.\d+)?"
    r"|\d+ (seconds|minutes)|x86-64",
    re.MULTILINE,
)
NUMBERS_FROM_ELSEWHERE = {
    "16_train_through_rounding.ipynb": {"13"}  # people who wrote the digits: digits/README.md
}


def numbers_in(text):
    """{number as it is written: its value}"""
    return {written: float(written.replace(",", "")) for written in NUMBER.findall(text)}


def passages(notebook):
    """The cells below each heading, down to the next one of any level; without the opening."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found += [[] for level, _ in headings(cell.source) if level > 1]
        if found:
            found[-1].append(cell)
    return found


def without_comments(code):
    """Python's tokens in one line; all of the text if it is not plain Python."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return code
    return " ".join(token.string for token in tokens if token.type != tokenize.COMMENT)


@rule
def numbers_come_from_cells(notebook):
    """Those of two digits or more in the prose are in the code or an output of the same passage.

    A comment is no source. A task asks for its numbers.
    """
    complaints = []
    for cells in passages(notebook):
        code = [cell for cell in cells if cell.cell_type == "code"]
        shown = [without_comments(cell.source) for cell in code]
        shown += [text_of(output) for cell in code for output in cell.outputs]
        known = set(numbers_in("\n".join(shown)).values())
        for cell in cells:
            if cell.cell_type == "code" or task_of(cell):
                continue
            stated = numbers_in(NOT_MEASURED.sub(" ", prose(cell.source)))
            for elsewhere in NUMBERS_FROM_ELSEWHERE.get(notebook.name, ()):
                stated.pop(elsewhere, None)
            complaints += [
                f"{cell.id}: the number {written} comes from no other cell below this heading"
                for written, value in stated.items()
                if len(written) > 1 and value not in known
            ]
    return complaints


@rule
def no_machine_paths(notebook):
    # An absolute path of two parts or more, but not the tail of an address or of a/b/c.
    path = re.compile(r"(?<![\w./:<])/[A-Za-z][\w.-]*/\w|\b[A-Z]:\\\w|site-packages|ipykernel_\d")
    return [
        f"{cell.id}: the output names a place on this machine ({match[0]}…): print less"
        for cell, output in notebook.outputs
        if (match := path.search(text_of(output)))
    ]


@rule
def everything_is_compared(notebook):
    """But for what the metadata of its cell says that it `varies`, and why."""
    return [
        f"{cell.id}: say in its metadata why it `varies`; nothing else keeps nbval from comparing"
        for cell in notebook.code
        if re.search(r"NBVAL_|PYTEST_VALIDATE_", cell.source)
        or any(
            tag != IGNORED and ("nbval" in tag or "raises" in tag)
            for tag in cell.metadata.get("tags", [])
        )
    ]
