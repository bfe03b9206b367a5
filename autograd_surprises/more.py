"""Where a reader of a report finds more about a rule of the doctor or a message of PyTorch."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

PACKAGE = "autograd-surprises"


def more_about(id: str) -> str:
    """The address of its page, or, before `make publish-as`, the command that says the same.

    >>> more_about("hook/zero").split()[-1].removesuffix(".html").endswith("hook/zero")
    True
    """
    return page_about(id) or f"python -m autograd_surprises explain {id}"


def page_about(id: str) -> str:
    """The address of its page, or "" before `make publish-as`.

    >>> page_about("hook/zero").endswith(("m/hook/zero.html", ""))
    True
    """
    pages = published_pages()
    return f"{pages}m/{id}.html" if pages else ""


@cache
def published_pages() -> str:
    """The address of the site, which publish-as writes into pyproject.toml; "" if it has none.

    >>> published_pages().endswith(("/", ""))
    True
    """
    try:
        links = metadata(PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:  # a folder on the path, without an installation
        return ""
    found = dict(link.split(", ", 1) for link in links)
    return found.get("Documentation", "")
