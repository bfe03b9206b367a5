"""Where the project is published: the Repository of [project.urls] in pyproject.toml, if any."""

import re
from pathlib import Path

PYPROJECT = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")


def links(pyproject: str = PYPROJECT) -> dict[str, str]:
    """Where to find the project's site and its files; empty if it is not published.

    >>> links('Repository = "https://github.com/Owner/repo"')["site"]
    'https://owner.github.io/repo/'
    """
    from autograd_surprises.facts.more import site  # it takes seconds: it imports torch

    found = re.search(r'^Repository = "(https://github\.com/.+?)/?"', pyproject, re.MULTILINE)
    if found is None:
        return {}
    return {"site": site(found[1]), "archive": f"{found[1]}/archive/main.zip"}
