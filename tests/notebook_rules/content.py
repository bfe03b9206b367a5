"""What a learner finds in every notebook."""

import ast
import copy
import io
import re
import tokenize

from notebook_rules import rule
from tools.folding import code_below_questions, fold, has_words
from tools.notebooks import (
    INSTALL,
    OUTPUTS_HIDDEN,
    SETUP,
    SOURCE_HIDDEN,
    UNFOLDED,
    headings,
    is_folded,
    is_solution,
)
from tools.reading import (
    EXPLORERS,
    WIDGETS,
    calls,
    is_call,
    prose,
    task_of,
    text_of,
    texts_of,
    tree,
)


@rule
def opens_with_a_question(notebook):
    first = notebook.cells[0]
    title = headings(first.source)[:1] if first.cell_type == "markdown" else []
    if title and title[0][0] == 1 and title[0][1].endswith("?"):
        return []
    return ["the first cell is not a Markdown title that asks something: `# Why ...?`"]


@rule
def says_what_you_will(notebook):
    cells = notebook.cells
    setup = next((n for n, cell in enumerate(cells) if cell.cell_type == "code"), len(cells))
    opening = "\n".join(cell.source for cell in cells[:setup]).replace("’", "'")
    return [
        f"`**{label}**` (or a heading of that name) is missing before the setup cell"
        for label in ("What you'll do", "What you'll learn", "What you'll need")
        if not re.search(rf"(\*\*|^#+ ){label}", opening, re.MULTILINE)
    ]


@rule
def install_and_setup_come_first(notebook):
    if [cell.id for cell in notebook.code[:2]] == [INSTALL, SETUP]:
        return []
    return [
        "the first two code cells do not have the ids `install` and `setup`: copy the first one "
        "from another notebook; sections run after the second one alone"
    ]


@rule
def has_an_explorer(notebook):
    if any(calls(cell, *EXPLORERS) for cell in notebook.code):
        return []
    return ["no explorer: let the reader slide something with `name = explore(...)`"]


@rule
def explorers_are_shown(notebook):
    return [
        f"{cell.id}: no picture in the stored output: end the cell with the explorer's name"
        for cell in notebook.code
        if calls(cell, *EXPLORERS)
        and not any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]


@rule
def buttons_say_what_they_show(notebook):
    """A caption, such as "too large a step", and not the numbers that the sliders have then."""
    return [
        f"{cell.id}: give each button a caption: tries={{'width': {{'too narrow': 0.25}}}}"
        for cell in notebook.code
        for call in ast.walk(tree(cell))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "tries"
        # of a variable, nobody sees what it holds
        if not isinstance(keyword.value, ast.Dict)
        or not all(isinstance(row, ast.Dict) for row in keyword.value.values)
    ]


@rule
def nobody_moves_the_readers_controls(notebook):
    """tests/explorers.toml has settings and what an explorer says there."""
    complaints, widgets = [], set()
    for cell in notebook.code:
        nodes = list(ast.walk(tree(cell)))
        for node in nodes:
            if isinstance(node, ast.Assign) and any(is_call(node.value, each) for each in WIDGETS):
                widgets |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        used = {node.value.id for node in nodes if is_attribute_of_a_name(node)} & widgets
        complaints += [
            f"{cell.id}: leave {name} to the reader: offer settings as buttons by "
            "`explore(..., tries={...})`, and put tests into tests/explorers.toml"
            for name in sorted(used)
        ]
    return complaints


def is_attribute_of_a_name(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


@rule
def has_exercises(notebook):
    if notebook.number == "00":
        return []
    found = [task.number for task in notebook.tasks]
    wanted = [*range(1, max(1, len(found)) + 1)]
    return [] if found == wanted else [f"the exercises are {found}, expected {wanted}"]


@rule
def exercises_are_whole(notebook):
    """In one section: the task, two hints or more, a check of the learner's answer, a solution."""
    complaints = []
    for heading, cells in notebook.sections:
        code = [cell for cell in cells if cell.cell_type == "code"]
        tasks = {
            f"{notebook.lesson}.{task.number}": task for cell in cells if (task := task_of(cell))
        }
        checked = {(n, is_solution(cell)) for cell in code for n in calls(cell, "check")}
        for number in {number for number, _ in checked} - tasks.keys():
            begins = f"**Exercise {number.partition('.')[2]} · …**"
            complaints.append(f"{number}: no cell in {heading!r} begins with {begins}")
        for number, task in tasks.items():
            if (number, False) not in checked:
                complaints.append(f"{number}: no cell where the learner's work is checked")
            if (number, True) not in checked:
                complaints.append(f"{number}: no solution (a cell tagged `solution`)")
            if task.hints < 2:
                complaints.append(f"{number}: fewer than two hints")
    return complaints


@rule
def solutions_are_right(notebook):
    return [
        f"{cell.id}: the solution's output does not start with ✓"
        for cell in notebook.code
        if is_solution(cell) and not texts_of(cell).startswith("✓")
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
def titles_do_not_answer_questions(notebook):
    return [
        f"{cell.id}: a title answers a question above it ({option!r}): say it in the prose"
        for cell, right, _ in code_below_questions(notebook.node)
        for option in right
        if has_words("\n".join(titles_of(cell)), option)
    ]


@rule
def what_stays_open_would_be_folded(notebook):
    """Or its reason, in the metadata, is about nothing."""
    closed = copy.deepcopy(notebook.node)
    for cell in closed.cells:
        cell.metadata.pop(UNFOLDED, None)
    fold(closed)
    folded = {cell.id for cell in closed.cells if is_folded(cell, OUTPUTS_HIDDEN)}
    return [
        f"{cell.id}: is not folded anyhow: remove `{UNFOLDED}` from its metadata"
        for cell in notebook.code
        if UNFOLDED in cell.metadata and cell.id not in folded
    ]


def recap_of(notebook):
    """The lines of its recap; empty if there is none."""
    recaps = [cells for heading, cells in notebook.sections if heading == "Recap"]
    text = "\n".join(cell.source for cells in recaps for cell in cells).partition("## Recap")[2]
    return [line for line in text.splitlines() if line.strip()]


@rule
def recap_is_short(notebook):
    lines = [line for line in recap_of(notebook) if line.startswith("- ")]
    if 1 <= len(lines) <= 6:
        return []
    return [f"`## Recap` has {len(lines)} lines that begin with `- `, expected one to six"]


@rule
def recap_says_what_the_reader_can_do_now(notebook):
    last = "".join(recap_of(notebook)[-1:])
    return [] if last.startswith("You can now ") else ["no line `You can now …` ends the recap"]


@rule
def ends_with_official_links(notebook):
    heading, cells = notebook.sections[-1]
    if heading == "Read on" and "https://docs.pytorch.org/" in "".join(c.source for c in cells):
        return []
    return ["the last section is not `## Read on` with a link to https://docs.pytorch.org/"]


NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d|⁻)")
NOT_MEASURED = re.compile(
    r"\]\([^)]*\)|<https?:[^>]*>|^\|.*$"  # the address of a link; a table, which has its own cells
    r"|\b(19|20)\d\d\b|\b0\d\b|[Nn]otebook \d\d|[Ii]ssue \d+"
    r"|\b([Tt]orch|[Vv]ersion|[Ss]ince|[Uu]p to|Python|CC BY) \d+\.\d+( to \d+\.\d+)?"
    r"|\d+ (seconds|minutes)|x86-64",
    re.MULTILINE,
)
NUMBERS_FROM_ELSEWHERE = {
    "07_train_through_rounding.ipynb": {"13"},  # people who wrote the digits: digits/README.md
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
def cells_are_short(notebook):
    complaints = []
    for cell in notebook.code:
        longer = cell.id == SETUP or calls(cell, "check") or calls(cell, "predict")
        longer = longer or is_folded(cell, SOURCE_HIDDEN)
        limit = 30 if is_solution(cell) else 20 if longer else 15
        lines = len(cell.source.splitlines())
        if lines > limit:
            complaints.append(f"{cell.id}: {lines} lines, more than {limit}: split the idea")
    return complaints
