"""Write the repository's address wherever it is needed: `make publish-as OWNER/REPO`.

    python -m tools.publish OWNER/REPO

pyproject.toml stores it, as the Repository among its links, and `make site` reads it there. It is
also written into README.md, CITATION.cff, and the cell `install` and the link to Colab of each
notebook. To change it, run this again. Where there is no address, the texts say what to do instead.
"""

import re
import sys
from pathlib import Path

import nbformat

from tools.notebooks import INSTALL, ROOT, notebook_files, stored_text

LINKS = re.compile(r"\[project\.urls\].*\n(?:\w+ = .*\n)*\n")
BEFORE_LINKS = "[project.optional-dependencies]\n"
CITED = re.compile(r"^(?:repository-code|url): .*\n", re.MULTILINE)
START, END = "<!-- written by `make publish-as`: -->\n", "<!-- :written -->"
# The Markdown list in README.md, with an address and without one.
PUBLISHED = """
- **Read it** [on the web]({site}), where sliders and questions work without a kernel.
- **Open it** in \
[![Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab}) or \
[![Binder](https://mybinder.org/badge_logo.svg)]({binder}); there is nothing to install.
- **Install it**: `make lab` in a clone of <{home}>, as below. For your own code, \
`python -m pip install {archive}` is enough.
"""
UNPUBLISHED = """
- **Read it**: `make site` builds pages on which sliders and questions work without a kernel. \
GitHub shows [the notebooks](#the-notebooks) with their stored pictures.
- **Open it** in [Colab, Kaggle or Binder](docs/publishing.md#colab-kaggle-and-binder).
- **Install it**: `make lab`, as below.
"""
MORE = re.compile(
    r"(?P<label>\bmore(?:</b>)?: )(?:https://\S+?/m/|python -m autograd_surprises explain )"
    r"(?P<id>[\w/-]+)(?:\.html)?"
)
IN_COLAB = re.compile(r"\n\n\[Open in Colab\]\(.*\)$")
IF_MISSING = """# @title Install
from importlib.util import find_spec

if not find_spec("autograd_surprises"):
"""


def main(arguments):
    if len(arguments) != 1:
        now = f"it is published as {address()}" if address() else "it is not published yet"
        sys.exit(f"say where the project is published ({now}): make publish-as OWNER/REPO")
    try:
        publish(arguments[0])
    except ValueError as error:
        sys.exit(f"{error}")


def publish(repository: str, root: Path = ROOT):
    """Write this address everywhere. Raises ValueError if it is not of the form OWNER/REPO."""
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", repository):
        raise ValueError(f"expected OWNER/REPO, the end of its address, not {repository!r}")
    texts = written(repository, root)
    changed = {p: text for p, text in texts.items() if text != p.read_text(encoding="utf-8")}
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.relative_to(root)}: updated")
    if not changed:
        print(f"published as {repository} already: nothing to write")


def address(root: Path = ROOT) -> str | None:
    """The stored OWNER/REPO, or None if the project is not published."""
    links = (root / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^Repository = "https://github.com/(.+)"$', links, re.MULTILINE)
    return found and found[1]


def written(repository: str | None, root: Path = ROOT) -> dict[Path, str]:
    """The text of each file that contains the address, with this one, or with none for None."""
    files = {"pyproject.toml": project, "CITATION.cff": citation, "README.md": readme}
    texts = {}
    for name, write in files.items():
        texts[root / name] = write((root / name).read_text(encoding="utf-8"), repository)
    for path in notebook_files(root / "notebooks"):
        texts[path] = stored_text(notebook(path, repository))
    return texts


def project(text, repository):
    links = {}
    if repository:
        links = {
            "Repository": home(repository),
            "Documentation": site(repository),
            "Changelog": f"{home(repository)}/blob/main/CHANGELOG.md",
            "Issues": f"{home(repository)}/issues",
        }
    lines = [f'{name} = "{link}"\n' for name, link in links.items()]
    block = "".join(["[project.urls] # by `make publish-as`\n", *lines, "\n"]) if links else ""
    return LINKS.sub("", text).replace(BEFORE_LINKS, block + BEFORE_LINKS)


def citation(text, repository):
    lines = ""
    if repository:
        lines = f"repository-code: {home(repository)}\nurl: {site(repository)}\n"
    return CITED.sub("", text) + lines


def readme(text, repository):
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    made = PUBLISHED.format(**links_to(repository)) if repository else UNPUBLISHED
    return before + start + made + "\n" + end + after


def notebook(path, repository):
    """The notebook with this address in its cell `install`, its title and its stored reports."""
    made = nbformat.read(path, as_version=4)
    title = made.cells[0]
    title.source = IN_COLAB.sub("", title.source)
    if repository:
        title.source += f"\n\n[Open in Colab]({colab(repository, path.name)})"
    (install,) = (cell for cell in made.cells if cell.id == INSTALL)
    install.source = install_source(repository)
    for output in (each for cell in made.cells for each in cell.get("outputs", [])):
        texts = output if output.output_type == "stream" else output.get("data", {})
        for kind in texts.keys() & {"text", "text/plain", "text/html"}:
            texts[kind] = MORE.sub(rf"\g<label>{more(repository)}", texts[kind])
    return made


def more(repository):
    """How a report of the doctor names what is said about the rule or message that follows."""
    if repository:
        return rf"{site(repository)}m/\g<id>.html"
    return r"python -m autograd_surprises explain \g<id>"


def install_source(repository: str | None) -> str:
    """A cell that does nothing if the packages are there, and else installs them or says how to."""
    if repository:
        wheel = f"autograd-surprises[notebooks] @ {archive(repository)}"
        return f'{IF_MISSING}    %pip install --quiet "{wheel}"'
    return (
        f"{IF_MISSING}    remedy = 'run `make lab` in the folder of the project, "
        'or `%pip install "FOLDER[notebooks]"`\'\n'
        '    raise ModuleNotFoundError(f"Autograd Surprises is missing in this Jupyter: {remedy}")'
    )


def links_to(repository: str | None) -> dict[str, str]:
    """Where to find the project and its first notebook; empty if it is not published."""
    if not repository:
        return {}
    first = "00_start_here.ipynb"
    return {
        "home": home(repository),
        "site": site(repository),
        "archive": archive(repository),
        "colab": colab(repository, first),
        "binder": binder(repository, first),
    }


def home(repository):
    return f"https://github.com/{repository}"


def site(repository):
    owner, _, name = repository.partition("/")
    return f"https://{owner.lower()}.github.io/{name}/"


def archive(repository):
    return f"{home(repository)}/archive/main.zip"


def colab(repository, name):
    return f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}"


def binder(repository, name):
    return f"https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/notebooks/{name}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
