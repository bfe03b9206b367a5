"""The sections of the notebooks, by ids that stay when a section moves: sections.toml."""

from functools import cache

from autograd_surprises.facts.toml_data import read_toml


@cache
def _addresses() -> dict[str, str]:
    return {
        section: f"{notebook}.ipynb#{heading.replace(' ', '-')}"
        for notebook, sections in read_toml("facts/sections.toml").items()
        for section, heading in sections.items()
    }


def address(section: str) -> str:
    """Where a section is: its notebook, and the anchor that JupyterLab gives its heading.

    Raises KeyError for an id that sections.toml does not have; "", no section, is nowhere.

    >>> address("none.detached")
    '05_none.ipynb#An-encoder-that-learns-nothing'
    """
    if section and section not in _addresses():
        raise KeyError(f"sections.toml has no section {section!r}")
    return _addresses()[section] if section else ""
