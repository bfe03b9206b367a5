"""Notebooks and Markdown files as Sphinx reads them: links lead to pages, pictures are frozen."""

import base64
import html
import json
import re
import zlib
from pathlib import Path
from urllib.parse import unquote

import nbformat
from nbformat.v4 import new_output

from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.findings import badge, with_code
from lessons.asking.prediction import STORED
from tools.notebooks import (
    INSTALL,
    OUTPUTS_HIDDEN,
    ROOT,
    SOURCE_HIDDEN,
    has_picture,
    is_folded,
    is_solution,
    notebook_files,
)

MEASURED = ROOT / "autograd_surprises" / "atlas" / "measured"
NEEDS_A_KERNEL = "needs-a-kernel"  # the tag of a cell that a page has no use for
# What only a kernel can do: '<span class="kernel">Run the next cell.</span>' in a Markdown cell.
FOR_A_KERNEL = re.compile(r' ?<span class="kernel">.*?</span>', re.DOTALL)
WITH_A_KERNEL = '<a href="index.html#kernel">open this notebook with a kernel</a>'
NOTE = f"*On this page, sliders and questions work. To run cells,* {WITH_A_KERNEL}."
SYMPTOMS = "SymptomSearch()"  # ends the cell whose place the box takes
ALL_ENTRIES = (
    '<p>Paste it into the box at the top of the page, or see <a href="messages.html">all messages, '
    "questions and rules</a>.</p>"
)
# Below a heading or another question, an output no longer belongs to the question above.
ENDS_A_QUESTION = re.compile(r"^#|\?", re.MULTILINE)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
def page_files() -> dict[Path, str]:
    """{file: its page, without .html}; notebooks come first, in reading order."""
    texts = [ROOT / "ATLAS.md", *sorted((ROOT / "docs").glob("*.md"))]
    named = {file: file.stem for file in [*notebook_files(), *texts]}
    return {**named, ROOT / "benchmarks" / "README.md": "benchmarks"}


def anchor_of(heading: str, path: Path) -> str:
    """As JupyterLab names it in a notebook, and GitHub in a Markdown file."""
    if path.suffix == ".md":
        heading = re.sub(r"[^\w\- ]", "", heading.lower())
    return heading.replace(" ", "-")


def with_links(markdown: str, folder: Path) -> str:
    """Links to files become links to their pages; a file without a page is only named.

    >>> with_links("[a](03_round_and_clamp.ipynb#Recap) [b](../Makefile)", ROOT / "notebooks")
    '[a](03_round_and_clamp.html#Recap) b'
    """
    pages = {**page_files(), MEASURED: "atlas/index"}

    def link(found):
        text, target = found.groups()
        name, mark, anchor = target.partition("#")
        file = (folder / unquote(name)).resolve()
        if file in pages:
            return f"[{text}]({pages[file]}.html{mark}{anchor})"
        return text if name and file.exists() else found[0]

    return LINK.sub(link, markdown)


def is_shown(cell) -> bool:
    """Not if only a kernel has a use for it."""
    return cell.id != INSTALL and NEEDS_A_KERNEL not in cell.metadata.get("tags", ())


def is_unanswered(cell) -> bool:
    """Is it a cell for the learner's answer? Then its output says that it is not done yet."""
    texts = (output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return "check(" in cell.source and any(text.startswith("…") for text in texts)


def notebook_source(path: Path, frozen: dict) -> str:
    """A notebook for myst-nb; `frozen` maps the ids of its cells to their frozen pictures."""
    notebook, asked = nbformat.read(path, as_version=4), ""
    notebook.cells = [cell for cell in notebook.cells if is_shown(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_links(FOR_A_KERNEL.sub("", cell.source), path.parent)
            asked = "" if ENDS_A_QUESTION.search(cell.source) else asked
            cell.metadata = {}
            continue
        asks = any(STORED in output.get("data", {}) for output in cell.outputs)
        asked = f"{cell.id}-0" if asks else asked
        cell.metadata = _folding(cell, asked)
        cell.outputs = _outputs(cell, frozen)
    title, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{NOTE}\n{rest}"
    return nbformat.writes(notebook)


def _folding(cell, asked):
    """As myst-nb names it; the question whose answer opens an output is a tag, too.

    A folded picture below no question is in sight at once.
    """
    if is_solution(cell):
        prompts = {"code_prompt_show": "Solution", "code_prompt_hide": "Solution"}
        return {"tags": ["hide-cell"], "mystnb": prompts}
    tags = ["hide-input"] if is_folded(cell, SOURCE_HIDDEN) else []
    if is_folded(cell, OUTPUTS_HIDDEN) and (asked or not has_picture(cell)):
        tags += ["hide-output", *([f"after-{asked}"] if asked else [])]
    return {"tags": tags}


def _outputs(cell, frozen):
    if is_unanswered(cell):
        return [_html(f"<p>To write your answer, {WITH_A_KERNEL}.</p>")]
    if cell.source.endswith(SYMPTOMS):
        return [_html(ALL_ENTRIES)]
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        if STORED in data:
            found += [
                _html(question_html(f"{cell.id}-{k}", **question))
                for k, question in enumerate(data[STORED])
            ]
        elif cell.id in frozen and "image/png" in data:
            found.append(_html(picture_html(cell.id, frozen[cell.id])))
        elif data or output.output_type == "stream":  # not what is put before a folded output
            found.append(output)
    return found


def _html(text):
    return new_output("display_data", data={"text/html": text})


def picture_html(name: str, frozen: dict) -> str:
    """A place of the picture's size, where page.js shows it, and the picture as JSON."""
    frames, texts = (
        json.loads(zlib.decompress(base64.b64decode(frozen[part]))) for part in ("frames", "texts")
    )
    width, height = frames[0]["size"]
    data = json.dumps(frozen, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div class="{"explorer" if frozen["controls"] else "still"}" id="{name}" '
        f'style="--width:{width};--height:{height}">'
        f'<script type="application/json">{data}</script>'
        f"<noscript>{html.escape(texts[0][1])}</noscript></div>"
    )


def question_html(name: str, question: str, options: list, right: str) -> str:
    """Radio buttons; page.js shows the explanation of the chosen one."""
    rows = []
    for option, why in options:
        mark = badge("✓", GREEN) if option == right else badge("✗", RED)
        explanation = html.escape(f"{mark} {with_code(why)}")
        rows.append(
            f'<label><input type="radio" name="{name}" data-why="{explanation}"> '
            f"<span>{html.escape(option)}</span></label>"
        )
    legend = f"<legend>{with_code(question)}</legend>"
    return f'<fieldset class="question">{legend}{"".join(rows)}<div role="status"></div></fieldset>'


def front_page(frozen: dict[Path, dict]) -> str:
    """README.md with the first slider in place of its picture, and the site's menu."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [(name, each) for made in frozen.values() for name, each in made.items()]
    slider = "".join([picture_html(name, each) for name, each in shown if each["controls"]][:1])
    readme = re.sub("<picture>.*?</picture>", lambda _: slider, readme, flags=re.DOTALL)
    readme = readme.replace("## Start", '<a id="kernel"></a>\n\n## Start')
    groups = re.split(r"^\| \| \*\*(.+)\*\*.*\n", readme, flags=re.MULTILINE)[1:]
    lessons = [re.findall(r"^\| \d\d \| .*/(.+)\.ipynb", rows, re.MULTILINE) for rows in groups[1::2]]
    others = [page for page in page_files().values() if page not in sum(lessons, [])]
    menu = [*zip(groups[::2], lessons, strict=True)]
    menu.append(("Look up", ["messages", "atlas/index", *others]))
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {title}\n" + "\n".join([*pages, "```"])
        for title, pages in menu
    ]
    return "\n\n".join([with_links(readme, ROOT), *trees])
