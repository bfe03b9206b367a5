"""Run the notebooks and store them in the one form that we commit.

    python -m tools.notebooks [NOTEBOOK ...]     without arguments: all of notebooks/

Running it a second time changes nothing. tests/test_notebook_rules.py enforces the form.
"""

import itertools
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError

from tools.address import links

ROOT = Path(__file__).resolve().parent.parent
SECONDS_PER_CELL = 1200  # the same that nbval gets
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},  # without the patch version of whoever ran it last
}
INSTALL, SETUP = "install", "setup"  # the ids of the first two code cells
IGNORED = "nbval-ignore-output"  # the tag of a cell whose output nbval does not compare
NEEDS_A_KERNEL = "needs-a-kernel"  # the tag of a cell that a page of the site has no use for
# What an author writes into a cell's metadata, each with a reason: its output varies between
# versions or machines, so it gets that tag; its output stays open below a question.
VARIES, UNFOLDED = "varies", "unfolded"
SOURCE_HIDDEN, OUTPUTS_HIDDEN = "source_hidden", "outputs_hidden"  # what can be folded
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# JupyterLab names a new cell by a uuid, nbformat and VS Code by eight hexadecimal digits.
RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?")
READABLE_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
EXERCISE = re.compile(r'^\*\*Exercise (\d+) ·|^check\("\w+\.(\d+)"', re.MULTILINE)
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1", flags=re.MULTILINE | re.DOTALL)


class NotebookError(Exception):
    """A notebook did not run to its end; the message names notebook and cell."""


def notebook_files(folder=ROOT / "notebooks"):
    """Our notebooks in reading order, without learners' copies (File > Duplicate) and drafts."""
    files = sorted(folder.glob("*.ipynb"))
    files = [file for file in files if not re.search(r"-Copy\d*|^Untitled", file.name)]
    if not files:
        raise FileNotFoundError(f"no notebooks in {folder}")
    return files


def lesson_of(path):
    """The name of a notebook's folder in lessons/: what it is about, without its number."""
    return path.stem.partition("_")[2]


def headings(markdown):
    """The (level, text) of each heading; a `#` inside a fenced code block is not one."""
    # Without a pattern for what ends a line: that takes quadratic time on a long line of spaces.
    found = re.findall(r"^(#{1,6}) +(\S.*)$", CODE_BLOCK.sub("", markdown), re.MULTILINE)
    return [(len(marks), text.rstrip(" #")) for marks, text in found]


def anchor_of(heading, path):
    """As JupyterLab names it in a notebook, and GitHub in a Markdown file."""
    if path.suffix == ".md":
        heading = re.sub(r"[^\w\- ]", "", heading.lower())
    return heading.replace(" ", "-")


def sections(notebook):
    """[(heading, cells)] of each `##` section; the cells before the first have the heading ''."""
    found = [("", [])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found += [(text, []) for level, text in headings(cell.source) if level == 2]
        found[-1][1].append(cell)
    return found


def setup_cell(notebook):
    """The cell that every section needs."""
    return next(cell for cell in notebook.cells if cell.get("id") == SETUP)


def is_folded(cell, part):
    """Is its code (SOURCE_HIDDEN) or its stored output (OUTPUTS_HIDDEN) folded?

    JupyterLab unfolds an output when the cell runs.
    """
    return bool(cell.metadata.get("jupyter", {}).get(part))


def is_solution(cell):
    return "solution" in cell.metadata.get("tags", ())


def is_shown(cell):
    """Has a page without a kernel a use for it?"""
    return cell.id != INSTALL and NEEDS_A_KERNEL not in cell.metadata.get("tags", ())


def is_unanswered(cell):
    """Is it a cell for the learner's answer? Then its output says that it is not done yet."""
    texts = (output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return "check(" in cell.source and any(text.startswith("…") for text in texts)


def has_picture(cell):
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def is_readable(cell_id):
    return bool(READABLE_ID.fullmatch(cell_id)) and not RANDOM_ID.fullmatch(cell_id)


def name_cells(cells):
    """Replace ids that say nothing by one made of the section's heading and a counter.

    The cells of an exercise are called exercise-3, exercise-3-answer and exercise-3-solution.
    """
    taken = {cell.get("id", "") for cell in cells}
    used, section, has_code = set(), "cell", False
    for cell in cells:
        if cell.cell_type == "markdown":
            for _, text in headings(cell.source):
                words = re.findall(r"[a-z0-9]+", text.lower())
                section = "-".join(words[:5]) or section
        candidates = (f"{section}-{number}" for number in itertools.count(1))
        if cell.cell_type == "code" and cell.get("id") != INSTALL and not has_code:
            candidates, has_code = itertools.chain([SETUP], candidates), True
        if exercise := EXERCISE.search(cell.source):
            part = "-solution" if is_solution(cell) else "-answer" if exercise[2] else ""
            name = f"exercise-{exercise[1] or exercise[2]}{part}"
            candidates = itertools.chain([name], candidates)
        if not is_readable(cell.get("id", "")) or cell.id in used:
            cell["id"] = next(name for name in candidates if name not in taken)
        taken.add(cell.id)
        used.add(cell.id)


def tidy_outputs(outputs):
    """Without widget views and empty parts; the pieces of one printed text are put together."""
    tidy = []
    for output in outputs:
        if "data" in output:
            # A reopened notebook says "Error displaying widget: model not found" where it finds
            # a view, and shows the picture beside it where it finds none.
            output.data.pop(WIDGET_VIEW, None)
            output.metadata.pop(WIDGET_VIEW, None)
            if not output.data:
                continue
        last = tidy[-1] if tidy else {}
        if output.output_type == last.get("output_type") == "stream" and output.name == last.name:
            last["text"] += output.text  # kernels cut streams at random
        else:
            tidy.append(output)
    return tidy


def install_source(archive=None):
    """A cell that does nothing if the packages are there, and else installs them or says how to."""
    missing = """# @title Install
from importlib.util import find_spec

if not find_spec("autograd_surprises"):
"""
    if archive:
        return f'{missing}    %pip install --quiet "autograd-surprises[notebooks] @ {archive}"'
    return (
        f"{missing}    remedy = 'run `make lab` in the folder of the project, "
        'or `%pip install "FOLDER[notebooks]"`\'\n'
        '    raise ModuleNotFoundError(f"Autograd Surprises is missing in this Jupyter: {remedy}")'
    )


def normalise(notebook):
    """Bring a notebook into the stored form, in place, and return it."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.cells = [c for c in notebook.cells if c.cell_type != "code" or c.source.strip()]
    name_cells(notebook.cells)
    for cell in notebook.cells:
        if cell.id == INSTALL:
            cell.source = install_source(links().get("archive"))
        kept = {reason: cell.metadata.get(reason) for reason in (VARIES, UNFOLDED)}
        tags = [tag for tag in cell.metadata.get("tags", ()) if tag != IGNORED]
        kept["tags"] = [*tags, IGNORED] if kept[VARIES] else tags
        kept["jupyter"] = {
            part: True for part in (SOURCE_HIDDEN, OUTPUTS_HIDDEN) if is_folded(cell, part)
        }
        if is_folded(cell, SOURCE_HIDDEN):
            # Folded in Colab, too. It would also show a line `# @title Question`, but JupyterLab
            # shows the first line as it is.
            kept["cellView"] = "form"
        if cell.cell_type == "code":
            cell["outputs"] = tidy_outputs(cell.outputs)
            if cell.outputs and is_folded(cell, OUTPUTS_HIDDEN):
                # Of a folded output, JupyterLab shows the first line of the first part, which may
                # be the answer to a question. An empty part has none, and nbval does not see it.
                cell.outputs.insert(0, nbformat.v4.new_output("display_data"))
        cell["metadata"] = nbformat.from_dict({key: value for key, value in kept.items() if value})
    return notebook


def stored_text(notebook):
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def execute(path):
    """Run a notebook in its own folder and return it with its new outputs."""
    notebook = nbformat.read(path, as_version=4)
    started = []
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        resources={"metadata": {"path": str(path.resolve().parent)}},
        extra_arguments=["--log-level=ERROR"],  # else each kernel warns that it listens on TCP
        on_cell_start=lambda cell, cell_index: started.append(cell),
    )
    # Jupyter picks the inline backend only where no other is asked for.
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    environment["XDG_STATE_HOME"] = os.devnull  # what somebody has solved changes no output
    try:
        client.execute(env=environment)
    except (CellControlSignal, DeadKernelError) as error:
        where = f"cell {started[-1].get('id', '?')}" if started else "before its first cell"
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        raise NotebookError(f"{path.name}, {where}: not stored, because\n{text}") from error
    return notebook


def refresh(path):
    """Run a notebook and store it; True if the file changed."""
    text = stored_text(normalise(execute(path)))
    if text == path.read_text(encoding="utf-8"):
        return False
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def main(arguments):
    paths = [Path(argument) for argument in arguments] or notebook_files()
    failed = False
    with ThreadPoolExecutor(max_workers=2) as pool:
        for path, result in [(path, pool.submit(refresh, path)) for path in paths]:
            try:
                outcome = "updated" if result.result() else "unchanged"
                print(f"{path.name}: {outcome}", flush=True)
            except NotebookError as error:
                print(error, file=sys.stderr)
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
