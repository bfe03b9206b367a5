"""What was found in a training loop, as a JSON file and in a terminal."""

import json
import os
from pathlib import Path

from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.doctor.watch.watching import watch
from autograd_surprises.facts.more import more_about


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
    """Write the reports as data: all of them, or leave what was there."""
    data = {
        "steps": watched.step,
        "healthy": watched.healthy,
        "summary": watched.summary,
        "reports": [as_data(report) for report in watched.reports],
    }
    whole = f"{json.dumps(data, indent=1)}\n".encode()
    file = Path(os.path.realpath(file))
    if file.exists() and not file.is_file():  # a pipe
        file.write_bytes(whole)
        return
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(whole)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


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
