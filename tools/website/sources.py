"""Notebooks and Markdown files as Sphinx reads them: links lead to pages, pictures are frozen."""

import html
import json
import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
from nbformat.v4 import new_output

from autograd_surprises.atlas.record import FOLDER
from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.findings import badge, with_code
from lessons.asking.prediction import STORED
from tools import notebooks
from tools.notebooks import ROOT

NOTEBOOKS = ROOT / "notebooks"
# What only a kernel can do: '<span class="kernel">Run the next cell.</span>' in a Markdown cell.
FOR_A_KERNEL = re.compile(r' ?<span class="kernel">.*?</span>', re.DOTALL)
WITH_A_KERNEL = '<a href="index.html#kernel">open this notebook with a kernel</a>'
SYMPTOMS = "SymptomSearch()"  # ends the cell whose place the box takes
ALL_ENTRIES = 'Paste it into the box at the top, or see <a href="messages.html">all of them</a>.'
# Below a heading or another question, an output no longer belongs to the question above.
ENDS_A_QUESTION = re.compile(r"^#|\?", re.MULTILINE)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def page_files() -> dict[Path, str]:
    """{file: its page, without .html}; notebooks come first, in reading order."""
    texts = [ROOT / "ATLAS.md", *sorted(ROOT.glob("docs/*.md")), ROOT / "benchmarks" / "README.md"]
    files = [*notebooks.notebook_files(), *texts]
    return {file: file.parent.name if file.stem == "README" else file.stem for file in files}


def with_links(markdown: str, folder: Path, up: str = "") -> str:
    """Links to files become links to their pages; a file without a page is only named.

    >>> with_links("[a](03_round_and_clamp.ipynb#Recap) [b](../Makefile)", NOTEBOOKS)
    '[a](03_round_and_clamp.html#Recap) b'
    """
    pages = {**page_files(), FOLDER: "atlas/index"}

    def link(found):
        text, target = found.groups()
        name, mark, anchor = target.partition("#")
        file = (folder / unquote(name)).resolve()
        if file in pages:
            return f"[{text}]({up}{pages[file]}.html{mark}{anchor})"
        return text if name and file.exists() else found[0]

    return LINK.sub(link, markdown)


def notebook_source(path: Path, frozen: dict) -> str:
    """A notebook for myst-nb; `frozen` maps the ids of its cells to their frozen pictures."""
    notebook, asked = nbformat.read(path, as_version=4), ""
    notebook.cells = [cell for cell in notebook.cells if notebooks.is_shown(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_links(FOR_A_KERNEL.sub("", cell.source), path.parent)
            asked = "" if ENDS_A_QUESTION.search(cell.source) else asked
        else:
            asks = any(STORED in output.get("data", {}) for output in cell.outputs)
            asked = f"{cell.id}-0" if asks else asked
            cell.metadata = _folding(cell, asked)
            cell.outputs = _outputs(cell, frozen)
            for data in (output.get("data", {}) for output in cell.outputs):
                if "text/markdown" in data:
                    data["text/markdown"] = with_links(data["text/markdown"], path.parent)
    note = f"\n\n*On this page, sliders and questions work. To run cells,* {WITH_A_KERNEL}.\n"
    notebook.cells[0].source = notebook.cells[0].source.replace("\n", note, 1)
    return nbformat.writes(notebook)


def _folding(cell, asked):
    """For myst-nb; a tag names the question whose answer opens an output."""
    if notebooks.is_solution(cell):
        return {"tags": ["hide-cell"], "mystnb": {"code_prompt_show": "Solution"}}
    is_code_folded = notebooks.is_folded(cell, notebooks.SOURCE_HIDDEN)
    tags = ["hide-input"] if is_code_folded or cell.id == notebooks.SETUP else []
    is_answer = asked or not notebooks.has_picture(cell)  # or else it is in sight at once
    if is_answer and notebooks.is_folded(cell, notebooks.OUTPUTS_HIDDEN):
        tags += ["hide-output", f"after-{asked}"]
    return {"tags": tags}


def _outputs(cell, frozen):
    if notebooks.is_unanswered(cell):
        return _html(f"<p>To write your answer, {WITH_A_KERNEL}.</p>")
    if cell.source.endswith(SYMPTOMS):
        return _html(f"<p>{ALL_ENTRIES}</p>")
    if cell.id in frozen:
        stream = [output for output in cell.outputs if output.output_type == "stream"]
        return [*stream, *_html(picture_html(cell.id, frozen[cell.id]))]
    for output in cell.outputs:
        if questions := output.get("data", {}).get(STORED):
            asked = enumerate(questions)
            return _html("".join(question_html(f"{cell.id}-{k}", **each) for k, each in asked))
    return [output for output in cell.outputs if output.get("data") or output.get("text")]


def _html(text):
    return [new_output("display_data", data={"text/html": text})]


def picture_html(name: str, frozen: dict) -> str:
    """Where page.js shows a picture, which stands there as JSON."""
    data = json.dumps(frozen, separators=(",", ":")).replace("</", "<\\/")
    kind = "explorer" if frozen["controls"] else "still"
    return f'<div class="{kind}" id="{name}"><script type="application/json">{data}</script></div>'


def question_html(name: str, question: str, options: list, right: str) -> str:
    """Radio buttons; page.js shows the explanation of the chosen one."""
    rows = [f"<legend>{with_code(question)}</legend>"]
    for option, why in options:
        mark = badge("✓", GREEN) if option == right else badge("✗", RED)
        explanation = html.escape(f"{mark} {with_code(why)}")
        field = f'<input type="radio" name="{name}" data-why="{explanation}">'
        rows.append(f"<label>{field} <span>{html.escape(option)}</span></label>")
    return f'<fieldset class="question">{"".join(rows)}<div role="status"></div></fieldset>'


def front_page(frozen: dict[Path, dict]) -> str:
    """README.md with the first slider in place of its picture, and the site's menu."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = (picture for made in frozen.values() for picture in made.items())
    slider = next((picture_html(*each) for each in shown if each[1]["controls"]), "")
    readme = re.sub("<picture>.*?</picture>", lambda _: slider, readme, flags=re.DOTALL)
    readme = readme.replace("## Start", '<a id="kernel"></a>\n\n## Start')
    return with_links(readme, ROOT)
