"""The sections of the notebooks, by ids that stay when a section moves: sections.toml."""

import sys
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@cache
def _addresses() -> dict[str, str]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    notebooks = tomllib.loads(text).items()
    return {
        section: f"{notebook}.ipynb#{heading.replace(' ', '-')}"
        for notebook, sections in notebooks
        for section, heading in sections.items()
    }


def address(section: str) -> str:
    """Where a section is: its notebook, and the anchor that JupyterLab gives its heading.

    Raises KeyError for an id that sections.toml does not have; "", no section, is nowhere.

    >>> address("none.detached")
    '08_none_zero_nan.ipynb#An-encoder-that-learns-nothing'
    """
    return _addresses()[section] if section else ""
