"""Write what the notebooks state about each other, without running them: python -m tools.course

notebooks/order.toml has their order, topics and levels. From it and from the cells follow the
numbers of the files, the minutes in each opening, the tables in README.md and notebook 00, the
links to the next notebook, and what is folded. A second run changes nothing.
"""

import re
import subprocess
from pathlib import Path

import nbformat

from autograd_surprises.facts.toml_data import tomllib
from tools.folding import fold
from tools.notebooks import (
    ROOT,
    headings,
    lesson_of,
    normalise,
    notebook_files,
    sections,
    stored_text,
)
from tools.reading import minutes_of, task_of

NOTEBOOKS, README = ROOT / "notebooks", ROOT / "README.md"
MINUTES = re.compile(r"About (\d+) minutes(, and \d+ for the exercises?)?(?=\.)")
NEXT = re.compile(r"^- Next: .*\Z", re.MULTILINE)
TABLE = re.compile(r"^\| Notebook \| The question \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
FOLDER = r"(?:(?:\.\./)?notebooks/)?"
LINKED = re.compile(
    r"(\[|\[[^\]\n]*\b[Nn]otebook )\d\d"
    rf"((?:(?<=ook \d\d)\b[^\]\n]*)?\]\({FOLDER})(\d\d)_"
)
PLACED = re.compile(rf"(\]\({FOLDER}(\d\d)_[^)]*\),? in notebook )\d\d")
COURSE = "The course"  # the topic of the notebooks that README.md lists
HEAD = "| Notebook | The question | Level | Minutes + exercises |\n|---|---|---|---|"


def order() -> dict[str, tuple[str, str]]:
    """{lesson: (topic, level)} in the order of reading."""
    rows = tomllib.loads((NOTEBOOKS / "order.toml").read_text(encoding="utf-8"))["lessons"]
    return {name: (topic, level) for name, topic, level in rows}


def renumber() -> None:
    """Give each file the number of its place, and change every mention of its name."""
    files = notebook_files(NOTEBOOKS)
    now = {lesson_of(path): path for path in files}
    if twice := [path.name for path in files if path not in now.values()]:
        raise ValueError(f"two notebooks of one lesson: rename or remove {', '.join(twice)}")
    if other := now.keys() ^ order().keys():
        raise ValueError(f"in notebooks/ or in its order.toml, but not in both: {sorted(other)}")
    names = {now[name].stem: f"{k:02}_{name}" for k, name in enumerate(order())}
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        return
    old = re.compile("|".join(names))
    found = ["git", "grep", "--untracked", "-lE", old.pattern]
    done = subprocess.run(found, cwd=ROOT, capture_output=True, text=True)
    if done.returncode > 1:  # 1: nothing is found
        raise ValueError(f"git has to find what names {', '.join(names)}: {done.stderr.strip()}")
    for name in done.stdout.split():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = numbered(old.sub(lambda match: names[match[0]], text))
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
    for before, after in names.items():
        (NOTEBOOKS / f"{before}.ipynb").rename(NOTEBOOKS / f"{after}.ipynb")


def numbered(text: str) -> str:
    """With the number of its file wherever the words of a link have the number of a notebook.

    >>> numbered("as [notebook 15](16_a.ipynb#Batches) does")
    'as [notebook 16](16_a.ipynb#Batches) does'
    """
    return PLACED.sub(r"\1\2", LINKED.sub(r"\1\3\2\3_", text))


def minutes(notebook) -> list[int]:
    """How long it takes, and its exercises, if there are some.

    What it says itself stays while it is about right: a small edit changes no table.
    """
    needed = sum(map(minutes_of, notebook.cells))
    said = MINUTES.search("\n".join(cell.source for cell in sections(notebook)[0][1]))
    reading = int(said[1]) if said else 0
    if not 0.8 * needed < reading < 1.3 * needed:
        reading = 5 * round(needed / 5)
    exercises = sum(task.minutes for cell in notebook.cells if (task := task_of(cell)))
    return [reading, exercises] if exercises else [reading]


def sentence(notebook) -> str:
    reading, *exercises = minutes(notebook)
    noun = "exercises" if sum(map(bool, map(task_of, notebook.cells))) > 1 else "exercise"
    return "".join([f"About {reading} minutes", *(f", and {n} for the {noun}" for n in exercises)])


def title_of(notebook) -> str:
    return headings(notebook.cells[0].source)[0][1]


def table(notebooks: dict, folder: str) -> str:
    """A row for each notebook, by topics; `folder` is where they are, as a link says it."""
    known, rows = order(), [HEAD]
    for topic in dict.fromkeys(known[lesson_of(path)][0] for path in notebooks):
        rows.append(f"| | **{topic}** | | |")
        for path, notebook in notebooks.items():
            where, level = known[lesson_of(path)]
            if where == topic:
                link = f"[{title_of(notebook)}]({folder}{path.name})"
                spent = " + ".join(map(str, minutes(notebook)))
                rows.append(f"| {path.name[:2]} | {link} | {level} | {spent} |")
    return "\n".join(rows)


def course() -> dict[Path, str]:
    """{file: the text that it should have}, for README.md and each notebook."""
    notebooks = {path: nbformat.read(path, as_version=4) for path in notebook_files(NOTEBOOKS)}
    paths = list(notebooks)
    rows_of_others = table(dict(list(notebooks.items())[1:]), "")
    for path, following in zip(paths, [*paths[1:], paths[0]], strict=True):
        notebook = notebooks[path]
        fold(notebook)
        title = title_of(notebooks[following]).replace("*", "")
        words = "Back to the start" if following == paths[0] else title
        last = notebook.cells[-1]
        last.source = NEXT.sub(f"- Next: [{words}]({following.name})", last.source)
        said = sentence(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = MINUTES.sub(said, cell.source)
                cell.source = TABLE.sub(rows_of_others, cell.source)
    of_course = {p: n for p, n in notebooks.items() if order()[lesson_of(p)][0] == COURSE}
    readme = TABLE.sub(table(of_course, "notebooks/"), README.read_text(encoding="utf-8"))
    texts = {path: stored_text(normalise(notebook)) for path, notebook in notebooks.items()}
    return {path: numbered(text) for path, text in {README: readme, **texts}.items()}


def main():
    renumber()
    for path, text in course().items():
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{path.relative_to(ROOT)}: updated")


if __name__ == "__main__":
    main()
