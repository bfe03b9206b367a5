"""What the Markdown of README, CONTRIBUTING, ... and of the notebooks points to is there."""

import functools
import html
import os
import pkgutil
import re
from pathlib import Path
from urllib.parse import unquote

import mistune
import nbformat

from tools.notebooks import ROOT, notebook_files

MARKDOWN = mistune.create_markdown(renderer="ast", plugins=["url", "math"])
PACKAGES = "autograd_surprises|helpers|lessons"
FOLDERS = f"{PACKAGES}|tests|notebooks|benchmarks|tools"


def markdown_files():
    found = []
    for folder, subfolders, files in os.walk(ROOT):
        built = ("build", "site", "student")
        subfolders[:] = [s for s in subfolders if s == ".github" or s[0] != "." and s not in built]
        found += [Path(folder, file) for file in files if file.endswith(".md")]
    return sorted(found)


def texts(path):
    """[(mime type, text)] of everything in a file that is shown as Markdown or HTML."""
    if path.suffix == ".md":
        return [("text/markdown", path.read_text(encoding="utf-8"))]
    found = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            found.append(("text/markdown", cell.source))
        for output in cell.get("outputs", []):
            found += [item for item in output.get("data", {}).items() if "image" not in item[0]]
    return [(mime, text) for mime, text in found if mime in ("text/markdown", "text/html")]


def tokens(path):
    """Every Markdown token of a file, flat."""

    def walk(level):
        for token in level:
            yield token
            yield from walk(token.get("children", ()))

    for mime, text in texts(path):
        if mime == "text/html":
            yield {"type": "block_html", "raw": text}
        else:
            yield from walk(MARKDOWN(text))


def links(path):
    for token in tokens(path):
        if token["type"] in ("link", "image"):
            yield unquote(token["attrs"]["url"])
        elif token["type"] in ("block_html", "inline_html"):
            yield from map(
                html.unescape, re.findall(r"""(?:href|src)=["']([^"']*)""", token["raw"])
            )


def plain(token):
    text = token.get("raw", "") if token["type"] != "inline_html" else ""
    return html.unescape(text) + "".join(plain(child) for child in token.get("children", ()))


@functools.cache
def anchors(path):
    """What may follow the # in a link to this file, one for each heading."""
    names = [plain(token) for token in tokens(path) if token["type"] == "heading"]
    if path.suffix == ".ipynb":
        return [name.replace(" ", "-") for name in names]  # as JupyterLab does
    return [re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names]  # as GitHub


def anchor_complaint(anchor, file):
    there = anchors(file)
    if anchor not in there:
        return f"no heading gives that anchor; {file.name} has {', '.join(there)}"
    if there.count(anchor) > 1:
        return f"{file.name} has several headings of that name"
    # Browsers and JupyterLab escape other characters and then do not find the heading (tried).
    if not re.fullmatch(r"[A-Za-z0-9;,/?:@&=+_.!~*'()-]+", anchor):
        return f"JupyterLab will not find it: use plain letters in that heading of {file.name}"
    return None


def broken_links(path):
    complaints = []
    for link in links(path):
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        scheme = re.match(r"([A-Za-z][\w+.-]*):", link)
        if scheme:
            usual = scheme[1] in ("https", "mailto", "data", "attachment")
            complaint = None if usual else "write https://, or put the address in backticks"
        elif not file.is_relative_to(ROOT) or target.startswith("/"):
            complaint = "leads out of the project"
        elif not file.exists():
            complaint = "there is no such file"
        else:
            complaint = anchor and anchor_complaint(anchor, file)
        if complaint:
            complaints.append(f"{path.name}: link {link}: {complaint}")
    return complaints


def unknown_names(path):
    """Names of ours in backticks that nothing has. `notebooks/NN_title.ipynb` means any."""
    complaints = []
    for token in tokens(path):
        if token["type"] not in ("codespan", "block_code"):
            continue
        code = token["raw"]
        names = re.findall(rf"\b(?:{PACKAGES})(?:\.(?!py\b)[A-Za-z_]\w*)+", code)
        for module, imported in re.findall(rf"from ((?:{PACKAGES})[\w.]*) import ([\w, ]+)", code):
            names += [f"{module}.{name}" for name in re.findall(r"\w+", imported)]
        for name in names:
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError) as error:
                complaints.append(f"{path.name}: `{name}`: {error}")
        for file in re.findall(rf"(?<![\w./-])(?:{FOLDERS})/[\w./*-]*", code):
            if "NN" not in file and not any(ROOT.glob(file.rstrip("./"))):
                complaints.append(f"{path.name}: `{file}`: there is no such file")
    return complaints


FILES = [*markdown_files(), *notebook_files()]


def test_links_lead_somewhere():
    assert [said for path in FILES for said in broken_links(path)] == []


def test_names_in_backticks_exist():
    assert [said for path in FILES for said in unknown_names(path)] == []
