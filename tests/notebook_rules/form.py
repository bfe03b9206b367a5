"""How a notebook is stored, and what its outputs may not contain."""

import re

from notebook_rules import rule
from tools.notebooks import IGNORED
from tools.reading import text_of

REMEDY = "run `make notebooks`"


@rule
def counts_are_1_to_n(notebook):
    counts = [cell.execution_count for cell in notebook.code]
    if counts == list(range(1, len(counts) + 1)):
        return []
    return [f"execution counts are {counts}, so nbval would not compare every cell: {REMEDY}"]


@rule
def no_machine_paths(notebook):
    # An absolute path of two parts or more, but not the tail of an address or of a/b/c.
    path = re.compile(r"(?<![\w./:<])/[A-Za-z][\w.-]*/\w|\b[A-Z]:\\\w|site-packages|ipykernel_\d")
    return [
        f"{cell.id}: the output names a place on this machine ({match[0]}…): print less"
        for cell, output in notebook.outputs
        if (match := path.search(text_of(output)))
    ]


@rule
def no_addresses(notebook):
    return [
        f"{cell.id}: {match[0]} is another number in each run: print a name instead of the object"
        for cell, output in notebook.outputs
        if (match := re.search(r"\b0x[0-9a-f]{6,}", text_of(output)))
    ]


@rule
def no_errors_and_warnings(notebook):
    return [
        f"{cell.id}: stores an error or a warning: show it with `expect_error` / `expect_warning`"
        for cell, output in notebook.outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


@rule
def pictures_have_a_text(notebook):
    return [
        f"{cell.id}: a picture without text/plain: nbval and screen readers need one"
        for cell, output in notebook.outputs
        if any(mime.startswith("image/") for mime in output.get("data", {}))
        and not output.data.get("text/plain")
    ]


@rule
def everything_is_compared(notebook):
    """But for what the metadata of its cell says that it `varies`, and why."""
    return [
        f"{cell.id}: say in its metadata why it `varies`; nothing else keeps nbval from comparing"
        for cell in notebook.code
        if re.search(r"NBVAL_|PYTEST_VALIDATE_", cell.source)
        or any(
            tag != IGNORED and ("nbval" in tag or "raises" in tag)
            for tag in cell.metadata.get("tags", [])
        )
    ]
