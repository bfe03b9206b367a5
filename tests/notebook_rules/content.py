"""What a learner finds in every notebook."""

import ast
import re

from notebook_rules import calls, is_call, rule, text_of, tree
from tools.notebooks import CODE_BLOCK, INSTALL, SETUP, headings


def is_solution(cell):
    return "solution" in cell.metadata.get("tags", [])


def prose(markdown):
    """Markdown without its code."""
    return re.sub(r"(`+).+?\1", "", CODE_BLOCK.sub("", markdown))


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
    if any(calls(cell, "explore") for cell in notebook.code):
        return []
    return ["no explorer: let the reader slide something with `name = explore(...)`"]


@rule
def explorers_are_shown(notebook):
    return [
        f"{cell.id}: no picture in the stored output: end the cell with the explorer's name"
        for cell in notebook.code
        if calls(cell, "explore")
        and not any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]


@rule
def explorers_are_driven(notebook):
    """test_notebook_sections.py watches that they are driven far enough."""
    complaints = []
    for number, cell in enumerate(notebook.code):
        assigned = [node for node in ast.walk(tree(cell)) if isinstance(node, ast.Assign)]
        assigned = [node.targets[0] for node in assigned if is_call(node.value, "explore")]
        names = [target.id for target in assigned if isinstance(target, ast.Name)]
        if len(names) < len(calls(cell, "explore")):
            complaints.append(f"{cell.id}: give the explorer a name: `name = explore(...)`")
        for name in names:
            drives = re.compile(rf"\b{name}\.set\(.*\bprint\(.*\b{name}\.summary\b", re.DOTALL)
            if not any(drives.search(later.source) for later in notebook.code[number + 1 :]):
                example = f"`{name}.set(...)` and `print({name}.summary)`"
                complaints.append(f"{cell.id}: no later cell drives the explorer by {example}")
    return complaints


@rule
def has_exercises(notebook):
    found = [label for cell in notebook.code for label in calls(cell, "exercise")]
    wrong = [label for label in found if not re.fullmatch(rf"{notebook.number}\.\d+", str(label))]
    complaints = [f"exercise {label!r}: write `{notebook.number}.k`, literally" for label in wrong]
    if len(set(found)) < 2 and notebook.number != "00":
        complaints.append("fewer than two exercises")
    return complaints


@rule
def exercises_are_checked_and_solved(notebook):
    complaints = []
    for number, cell in enumerate(notebook.code):
        for label in calls(cell, "exercise"):
            checks = [c for c in notebook.code[number + 1 :] if label in calls(c, "check")]
            if all(is_solution(check) for check in checks):
                complaints.append(f"{label}: no later cell where the learner's work is checked")
            if not any(is_solution(check) for check in checks):
                complaints.append(f"{label}: no later solution (a cell tagged `solution`)")
    return complaints


@rule
def solutions_are_folded_and_right(notebook):
    complaints = []
    for cell in notebook.code:
        if is_solution(cell):
            if not cell.metadata.get("jupyter", {}).get("source_hidden"):
                complaints.append(f"{cell.id}: fold it: metadata jupyter.source_hidden = true")
            if not cell.outputs or not text_of(cell.outputs[0]).strip().startswith("✓"):
                complaints.append(f"{cell.id}: the solution's output does not start with ✓")
    return complaints


@rule
def recap_is_short(notebook):
    recaps = [cells for heading, cells in notebook.sections if heading == "Recap"]
    if len(recaps) != 1:
        return [f"{len(recaps)} sections are called `## Recap`, not one"]
    text = "\n".join(cell.source for cell in recaps[0]).partition("## Recap")[2]
    lines = [line for line in text.splitlines() if line.strip()]
    return [f"the recap has {len(lines)} lines, more than six"] if len(lines) > 6 else []


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


@rule
def numbers_come_from_cells(notebook):
    """In the prose of a section: those of two digits or more are in its code or an output."""
    complaints = []
    for _, cells in notebook.sections[1:]:  # after the opening, which says how long it takes
        code = [cell for cell in cells if cell.cell_type == "code"]
        shown = [cell.source for cell in code]
        shown += [text_of(output) for cell in code for output in cell.outputs]
        known = set(numbers_in("\n".join(shown)).values())
        for cell in (cell for cell in cells if cell.cell_type == "markdown"):
            stated = numbers_in(NOT_MEASURED.sub(" ", prose(cell.source)))
            for elsewhere in NUMBERS_FROM_ELSEWHERE.get(notebook.name, ()):
                stated.pop(elsewhere, None)
            complaints += [
                f"{cell.id}: the number {written} comes from no cell of this section"
                for written, value in stated.items()
                if len(written) > 1 and value not in known
            ]
    return complaints


@rule
def cells_are_short(notebook):
    complaints = []
    for cell in notebook.code:
        longer = cell.id == SETUP or calls(cell, "check") or calls(cell, "predict")
        limit = 30 if is_solution(cell) else 20 if longer else 15
        lines = len(cell.source.splitlines())
        if lines > limit:
            complaints.append(f"{cell.id}: {lines} lines, more than {limit}: split the idea")
    return complaints
