"""Where the project is published: the Repository of [project.urls] in pyproject.toml, if any."""

import re
from pathlib import Path

from autograd_surprises.facts.more import site

PYPROJECT = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
FIRST = "00_start_here.ipynb"


def links(pyproject: str = PYPROJECT) -> dict[str, str]:
    """Where to find the project and its first notebook; empty if it is not published.

    >>> links('Repository = "https://github.com/Owner/repo"')["site"]
    'https://owner.github.io/repo/'
    """
    found = re.search(r'^Repository = "(https://github\.com/(.+?))/?"', pyproject, re.MULTILINE)
    if found is None:
        return {}
    home, repository = found.groups()
    return {
        "home": home,
        "site": site(home),
        "archive": f"{home}/archive/main.zip",
        "colab": f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{FIRST}",
        "binder": f"https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/notebooks/{FIRST}",
    }
