"""What a learner finds in every notebook."""

import ast
import re

from rules import calls, is_call, rule, text_of, tree
from tools.notebooks import CODE_BLOCK, headings


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
def setup_comes_first(notebook):
    if notebook.code and notebook.code[0].id == "setup":
        return []
    return ["the first code cell does not have the id `setup`; sections run after that cell alone"]


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


@rule
def cells_are_short(notebook):
    complaints = []
    for cell in notebook.code:
        longer = cell.id == "setup" or calls(cell, "check") or calls(cell, "predict")
        limit = 30 if is_solution(cell) else 20 if longer else 15
        lines = len(cell.source.splitlines())
        if lines > limit:
            complaints.append(f"{cell.id}: {lines} lines, more than {limit}: split the idea")
    return complaints


@rule
def no_filler_words(notebook):
    filler = re.compile(r"\b(simply|just|obviously|of course)\b", re.IGNORECASE)
    texts = [(cell, cell.source) for cell in notebook.markdown]
    texts += [
        (cell, out.get("data", {}).get("text/markdown", "")) for cell, out in notebook.outputs
    ]
    return [
        f"{cell.id}: leave out “{match[0]}”: it tells the reader that it is easy, not why"
        for cell, text in texts
        for match in filler.finditer(prose(text))
    ]


@rule
def no_emoji(notebook):
    emoji = re.compile(
        "[\U0001f000-\U0001faff\u2600-\u26ff\u2705\u2728\u274c\u2753-\u2757\u2b50\ufe0f]"
    )
    texts = [(cell, cell.source) for cell in notebook.cells]
    texts += [(cell, text_of(output)) for cell, output in notebook.outputs]
    return [
        f"{cell.id}: leave out the emoji {match[0]!r}"
        for cell, text in texts
        if (match := emoji.search(text))
    ]
