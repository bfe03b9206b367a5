"""Which files become pages, and where links lead there."""

import re
from pathlib import Path
from urllib.parse import unquote

from tools.notebooks import ROOT, notebook_files

NOTEBOOKS = ROOT / "notebooks"
FRONT = "index.html"
GET_A_KERNEL = f"{FRONT}#kernel"  # how to run the notebooks
ATLAS_OF_ALL = "atlas/index.html"
MEASURED = ROOT / "autograd_surprises" / "atlas" / "measured"  # whose files are on that page
README_OF_BENCHMARKS = ROOT / "benchmarks" / "README.md"


def page_files() -> dict[Path, str]:
    """{file: the name of its page}; notebooks come first, in reading order."""
    texts = [ROOT / "ATLAS.md", *sorted((ROOT / "docs").glob("*.md"))]
    named = {file: f"{file.stem}.html" for file in [*notebook_files(), *texts]}
    return {**named, README_OF_BENCHMARKS: "benchmarks.html"}


def page_url(link: str, folder: Path = NOTEBOOKS) -> str | None:
    """Where a link in a file of this folder leads on the site; None if there is no such page.

    >>> page_url("11_errors_and_wrong_numbers.ipynb#Any-other-message")
    '11_errors_and_wrong_numbers.html#Any-other-message'
    >>> page_url("../helpers/functions/rounding.py")
    """
    target, mark, anchor = link.partition("#")
    if target in ("", FRONT) or re.match(r"[a-z]+:", link):
        return link
    pages = {**page_files(), MEASURED: ATLAS_OF_ALL}
    page = pages.get((folder / unquote(target)).resolve())
    return page and page + mark + anchor


def atlas_url(operation: str) -> str:
    """The page of an operation whose gradient changed.

    >>> atlas_url("torch.clamp")
    'atlas/torch.clamp.html'
    """
    return f"atlas/{operation}.html"


def entry_url(id: str) -> str:
    """The page of a message, a question or a rule; it stays the same.

    >>> entry_url("zero-factor/number")
    'm/zero-factor/number.html'
    """
    return f"m/{id}.html"
