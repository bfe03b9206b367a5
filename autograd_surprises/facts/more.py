"""Where a reader of a report finds more about a rule of the doctor or a message of PyTorch."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

PACKAGE = "autograd-surprises"


def more_about(id: str) -> str:
    """The address of its page, or, before it is published, the command that says the same.

    >>> more_about("hook/zero").split()[-1].removesuffix(".html").endswith("hook/zero")
    True
    """
    return page_about(id) or f"python -m autograd_surprises explain {id}"


def page_about(id: str) -> str:
    """The address of its page, or "" before it is published."""
    pages = published_pages()
    return f"{pages}m/{id}.html" if pages else ""


@cache
def published_pages() -> str:
    """The address of the site, if [project.urls] of pyproject.toml had a Repository; else ""."""
    try:
        links = metadata(PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:  # a folder on the path, without an installation
        return ""
    found = dict(link.split(", ", 1) for link in links)
    return site(found["Repository"]) if "Repository" in found else ""


def site(repository: str) -> str:
    """Where GitHub Pages has the site of a repository.

    >>> site("https://github.com/Owner/repo")
    'https://owner.github.io/repo/'
    """
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}/"
