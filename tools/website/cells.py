"""The cells of a notebook as HTML, from their stored outputs."""

import base64
import html
import json
import re
import zlib

from nbconvert.filters import markdown2html
from nbconvert.filters.highlight import Highlight2HTML

from autograd_surprises.show.colours import GREEN, RED
from autograd_surprises.show.findings import badge, with_code
from lessons.asking.prediction import STORED
from tools.notebooks import OUTPUTS_HIDDEN, SOURCE_HIDDEN, has_picture, is_folded, is_solution
from tools.website.links import GET_A_KERNEL

# What only a kernel can do: '<span class="kernel">Run the next cell.</span>' in a Markdown cell.
FOR_A_KERNEL = re.compile(r' ?<span class="kernel">.*?</span>', re.DOTALL)
WIDGETS = re.compile(r"\b(AtlasBrowser)\(")  # shown here as a picture
WITH_A_KERNEL = f'<a href="{GET_A_KERNEL}">open this notebook with a kernel</a>'
highlight = Highlight2HTML(pygments_lexer="python")


def cell_html(cell, frozen: dict, asked: str = "") -> str:
    """A cell as HTML; `frozen` maps the ids of cells to their frozen pictures.

    `asked` names the question above. When it is answered, page.js opens a folded output. A folded
    picture below no question is in sight at once.
    """
    if cell.cell_type == "markdown":
        return markdown2html(FOR_A_KERNEL.sub("", cell.source))
    shown = "".join(output_html(output, cell, frozen) for output in cell.outputs)
    if is_unanswered(cell):
        shown = f'<p class="needs-kernel">To write your answer, {WITH_A_KERNEL}.</p>'
    elif WIDGETS.search(cell.source) and has_value(cell):
        shown += (
            f'<p class="needs-kernel">This picture does not move. To use it, {WITH_A_KERNEL}.</p>'
        )
    code = highlight(cell.source)
    if is_solution(cell):
        return folded("Solution", code + shown)
    if is_folded(cell, OUTPUTS_HIDDEN) and (asked or not has_picture(cell)):
        shown = folded("Output", shown, asked)
    if is_folded(cell, SOURCE_HIDDEN):
        return shown + folded("Code", code)
    return f'<div class="cell" id="cell-{cell.id}">{code}{shown}</div>'


def folded(summary, content, asked=""):
    after = f' data-after="{asked}"' if asked else ""
    return f'<details class="cell"{after}><summary>{summary}</summary>{content}</details>'


def name_of_question(cell) -> str:
    """How `cell_html` names the question that this cell asks; "" if it asks none."""
    asks = any(STORED in output.get("data", {}) for output in cell.get("outputs", []))
    return f"{cell.id}-0" if asks else ""


def has_value(cell):
    return any(output.output_type == "execute_result" for output in cell.outputs)


def is_unanswered(cell):
    """Is it a cell for the learner's answer? Then its output says that it is not done yet."""
    texts = (output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return "check(" in cell.source and any(text.startswith("…") for text in texts)


def output_html(output, cell, frozen):
    if output.output_type == "stream":
        return f'<pre class="output">{html.escape(output.text)}</pre>'
    data = output.data
    if not data:  # what tools/notebooks.py puts before a folded output
        return ""
    if STORED in data:
        asked = enumerate(data[STORED])
        return "".join(question_html(f"{cell.id}-{k}", **question) for k, question in asked)
    if "image/png" in data:
        if cell.id in frozen:
            return picture_html(cell.id, frozen[cell.id])
        return image_html(data, output.metadata["image/png"])
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    if "text/markdown" in data:
        return f'<div class="output">{markdown2html(data["text/markdown"])}</div>'
    return f'<pre class="output">{html.escape(data["text/plain"])}</pre>'


def picture_html(name: str, frozen: dict) -> str:
    """Where page.js will show a frozen picture: an empty box of the same size."""
    frames, texts = (
        json.loads(zlib.decompress(base64.b64decode(frozen[part]))) for part in ("frames", "texts")
    )
    (width, height), controls = frames[0]["size"], len(frozen["controls"])
    rows = -(-controls // 3) + len(frozen["tries"])
    return (
        f'<div class="{"explorer" if controls else "still"}" data-frozen="{name}">'
        f'<div class="waiting" style="--width:{width};--height:{height};--rows:{rows}">'
        f"<noscript>{html.escape(texts[0][1])}</noscript></div></div>"
    )


def image_html(data, about):
    source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
    alt, width = html.escape(about["alt"]), about["width"]
    return f'<div class="still"><img src="{source}" alt="{alt}" width="{width}"></div>'


def question_html(name, question, options, right):
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
