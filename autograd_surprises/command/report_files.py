"""What was found in a training loop, as a JSON file and as a page."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.doctor.watch.watching import watch
from autograd_surprises.facts.more import more_about

if TYPE_CHECKING:
    from autograd_surprises.show.graph_picture import BoxGraph

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap }} img {{ max-width: 100% }}
@media (prefers-color-scheme: dark) {{ img {{ filter: invert(.93) hue-rotate(180deg) }} }}
</style></head><body>
<h1>{title}</h1>
<pre>{summary}</pre>
{reports}
</body></html>
"""


def cannot_write(file: str | None) -> str:
    """Why this file cannot be written, or "". It stays as it is, and no new one stays behind.

    >>> cannot_write("nowhere/found.json")
    'there is no folder nowhere'
    """
    if not file:
        return ""
    folder = os.path.dirname(file)
    if not os.path.isdir(folder or "."):
        return f"there is no folder {folder}"
    if os.path.isdir(file):
        return f"{file} is a folder"
    there = os.path.lexists(file)
    if there and not os.path.isfile(file):  # a pipe: to open it might wait
        return ""
    try:
        with open(file, "ab"):
            pass
    except OSError as error:
        return f"cannot write {file}: {error.strerror}"
    if not there:
        os.remove(file)
    return ""


def file_of_rank(file: str | None, rank: int) -> str | None:
    """The file in which a process writes its report.

    >>> file_of_rank("report.json", 0), file_of_rank("report.json", 2)
    ('report.json', 'report.rank2.json')
    """
    if not file or not rank:
        return file
    stem, ending = os.path.splitext(file)
    return f"{stem}.rank{rank}{ending}"


def write_json(file: str | Path, watched: watch) -> None:
    """Write the reports as data."""
    data = {
        "steps": watched.step,
        "healthy": watched.healthy,
        "summary": watched.summary,
        "reports": [as_data(report) for report in watched.reports],
    }
    _write_whole(file, json.dumps(data, indent=1) + "\n")


def as_data(report: StepReport) -> dict:
    """One report as numbers, texts, lists and dicts."""
    return {
        "step": report.step,
        "why": report.why,
        "loss": report.report.loss,
        "healthy": report.healthy,
        "findings": [
            {
                "name": found.name,
                "status": found.status,
                "cause": found.cause,
                "rule": found.rule,
                "section": found.section,
                "sentence": found.sentence,
                "fix": found.fix,
                "gradient": found.node,
                "also": list(found.also),
                "places": [{"label": label, **_place(at)} for label, at in found.places],
                "more": more_about(found.rule) if found.rule else "",
            }
            for found in report.report.findings
        ],
    }


def more_lines(report: StepReport) -> list[str]:
    """Where to read more about each rule behind what is to be repaired; an error says it itself.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> more_lines(StepReport(1, "the first one", explain(x.round().sum(), {"x": x})))[0][:18]
    'more: python -m au'
    """
    bad = [found for found in report.report.findings if found.alarming and found.rule]
    rules = [found.rule for found in bad if found.status != "error"]
    return [f"more: {more_about(rule)}" for rule in dict.fromkeys(rules)]


def said_by_rank(report: StepReport, rank: int, size: int) -> str:
    """A report and where to read more; "" of a healthy one, in all processes but the first.

    >>> x = torch.ones(2, requires_grad=True)
    >>> healthy = StepReport(1, "the first one", explain(x.sum(), {"x": x}))
    >>> said_by_rank(healthy, 1, 2), said_by_rank(healthy, 0, 2)[:14]
    ('', 'rank 0, step 1')
    """
    if rank and report.healthy:
        return ""
    prefix = f"rank {rank}, " if size > 1 else ""
    return "\n".join([f"{prefix}{report}", *more_lines(report)])


def _place(where):
    return {
        "file": where.file,
        "line": where.line,
        "source": where.source,
        "module": where.module,
        "inside": where.inside and _place(where.inside),
    }


def write_html(
    file: str | Path, watched: watch, graphs: list[tuple[StepReport, BoxGraph]], title: str
) -> None:
    """Write the reports as a page, each with its graph: a picture, or text without matplotlib."""
    parts = []
    for report, graph in graphs:
        parts.append(f"<h2>step {report.step}: {html.escape(report.why)}</h2>")
        more = "<br>".join(map(html.escape, more_lines(report)))
        parts += [report.report._repr_html_(), f"<p>{_linked(more)}</p>", _picture(graph)]
    page = PAGE.format(
        title=html.escape(title), summary=html.escape(watched.summary), reports="\n".join(parts)
    )
    _write_whole(file, page)


def _write_whole(file, text):
    """Write all of it, or leave what was there."""
    file = Path(os.path.realpath(file))
    data = text.encode("utf-8", "replace")
    if file.exists() and not file.is_file():  # a pipe
        file.write_bytes(data)
        return
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def _linked(text):
    return re.sub(r"(https://\S+?)(?=<|$)", r'<a href="\1">\1</a>', text)


def _picture(graph):
    try:
        from autograd_surprises.show.graph_picture import draw

        picture = draw(graph)
        picture.canvas.draw()
        data = base64.b64encode(picture.png()).decode()
    except ImportError:
        return f"<pre>{html.escape(graph.summary)}</pre>"
    alt = html.escape(graph.summary, quote=True)
    return f'<p><img alt="{alt}" src="data:image/png;base64,{data}"></p>'
