"""A page for each operation that changed between two versions of torch, and the numbers as JSON."""

import re
from functools import cache
from typing import NamedTuple

from bs4 import BeautifulSoup

from autograd_surprises.atlas import Change, changes, describe, describe_tie, versions
from autograd_surprises.atlas.record import FOLDER, stored
from tools.website.links import ATLAS_OF_ALL, atlas_url
from tools.website.pages import TEMPLATES, Page, sections_of


class Changed(NamedTuple):
    """A difference between a version of torch and the one before it."""

    version: str
    change: Change


@cache
def changed_operations() -> dict[str, list[Changed]]:
    """{operation: its changes, the latest first}.

    >>> [each.version for each in changed_operations()["torch.clamp_max"]]
    ['2.14']
    """
    found: dict[str, list[Changed]] = {}
    measured = versions()
    for earlier, later in reversed([*zip(measured, measured[1:], strict=False)]):
        for change in changes(earlier, later):
            name = re.match(r"[\w.]+", change.expression)[0]
            found.setdefault(name, []).append(Changed(later, change))
    return dict(sorted(found.items()))


def atlas_pages() -> list[Page]:
    """A page for each of them, and one that lists them and the files."""
    found, files = changed_operations(), [file.name for file in numbers()]
    pages = [_page(atlas_url(name), "atlas_row.html", **about(name)) for name in found]
    listed = {name: atlas_url(name) for name in found}
    return [*pages, _page(ATLAS_OF_ALL, "atlas_rows.html", operations=listed, files=files)]


def numbers() -> list:
    """The files with all that was measured, the newest version first."""
    return [FOLDER / f"torch-{version}.json" for version in reversed(versions())]


def about(name: str) -> dict:
    """What the page of an operation shows: its changes, and each line of code in every version."""
    lines = dict.fromkeys(each.change.expression for each in changed_operations()[name])
    return {
        "name": name,
        "changes": changed_operations()[name],
        "versions": (versions()[0], versions()[-1]),
        "lines": {line: in_each_version(line) for line in lines},
    }


def in_each_version(line: str) -> list[tuple[str, str]]:
    """(versions, what they return) for one line of code; the same answer once.

    >>> [when for when, _ in in_each_version("torch.clamp_max(x, 1)")]
    ['2.6 to 2.13', '2.14 to 2.15']
    """
    spans: list[list[str]] = []
    for version in versions():
        atlas = stored(version)
        if line in atlas.operations:
            said = describe(atlas.operations[line])
        else:
            said = describe_tie(atlas.ties[line]) if line in atlas.ties else "not there"
        if spans and spans[-1][2] == said:
            spans[-1][1] = version
        else:
            spans.append([version, version, said])
    return [(first if first == last else f"{first} to {last}", said) for first, last, said in spans]


def _page(url, template, **values):
    body = TEMPLATES.get_template(template).render(**values)
    soup = BeautifulSoup(body, "html.parser")
    return Page(url, soup.h1.get_text(), body, sections_of(soup))
