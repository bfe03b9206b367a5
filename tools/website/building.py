"""The site in one folder: pictures, sources, Sphinx, and what Sphinx does not write."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path

import matplotlib
import torch
from docutils import nodes
from sphinx.application import Sphinx

from autograd_surprises.show import live_picture
from tools.address import links
from tools.notebooks import ROOT
from tools.website.generated import box_data, entries_by_id, generated_pages, is_a_line
from tools.website.sources import MEASURED, anchor_of, front_page, notebook_source, page_files, with_links

HERE = Path(__file__).parent
STROKES = Path(live_picture.__file__).with_name("strokes.js")
KEPT = ROOT / "build" / "site"  # the pictures, until their notebook changes
MADE_FROM = [
    "helpers/**/*",
    "lessons/**/*",
    "autograd_surprises/**/*.py",
    "autograd_surprises/**/*.toml",
    "autograd_surprises/show/*.js",
    "autograd_surprises/atlas/measured/*",
    "tools/website/recording.py",
]
MOVED: dict[str, str] = {}  # {an id that is gone: the id whose page answers instead}
PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>{head}
<p>{title}: <a href="{url}">{url}</a></p></html>
"""
CONFIGURATION = {
    "project": "Autograd Surprises",
    "html_title": "PyTorch · Autograd Surprises",
    "extensions": ["myst_nb"],
    "html_theme": "furo",
    "nb_execution_mode": "off",
    "nb_render_text_lexer": "none",
    "nb_code_prompt_show": "Show {type}",
    "nb_code_prompt_hide": "Hide {type}",
    "myst_all_links_external": True,
    "myst_enable_extensions": [],
    "html_static_path": [str(HERE / "static"), "made"],
    "templates_path": [str(HERE / "templates")],
    "html_extra_path": ["extra"],
    "html_favicon": str(HERE / "static" / "favicon.svg"),
    "html_css_files": ["style.css"],
    "html_js_files": [
        (file, {"defer": "defer"}) for file in ("strokes.js", "entries.js", "box.js", "page.js")
    ],
    "html_theme_options": {"announcement": "the box: templates/page.html"},
    "html_sidebars": {
        f"{folder}/**": ["sidebar/brand.html", "sidebar/search.html"] for folder in ("m", "atlas")
    },
    "html_show_search_summary": False,  # a page opened from disk may not fetch others
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_copyright": False,
}


def recorded(notebooks: list[Path]) -> dict[Path, dict]:
    """{notebook: its frozen pictures}, two at a time. Only notebooks that changed are run."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        files = dict(zip(notebooks, pool.map(_record, notebooks), strict=True))
    for file in set(KEPT.glob("*.json")) - set(files.values()):
        file.unlink()
    return {path: json.loads(file.read_text(encoding="utf-8")) for path, file in files.items()}


def _record(path):
    file = KEPT / f"{path.stem}-{_seal(path)}.json"
    if not file.exists():
        print(f"{path.name}: running it for its pictures", flush=True)
        command = [sys.executable, "-m", "tools.website.recording", path, file.with_suffix(".new")]
        environment = {**os.environ, "MPLBACKEND": "Agg"}  # no windows
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{path.name} cannot be run:\n{done.stderr[-4000:]}")
        file.with_suffix(".new").replace(file)
    return file


def _seal(notebook):
    """A hash of everything that its pictures depend on."""
    found = hashlib.sha256(f"{torch.__version__} {matplotlib.__version__}".encode())
    sources = [file for pattern in MADE_FROM for file in sorted(ROOT.glob(pattern))]
    for file in [notebook, *sources]:
        if file.is_file() and "__pycache__" not in file.parts:
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def build(target: Path, frozen: dict[Path, dict], scratch: Path) -> None:
    """Write the site; `frozen` has the pictures of each notebook. Sphinx works in `scratch`."""
    published = links().get("site", "")
    for name, text in sources(frozen, published).items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text, encoding="utf-8")
    shutil.copytree(MEASURED, scratch / "extra" / "atlas", dirs_exist_ok=True)
    configuration = {**CONFIGURATION, "html_baseurl": published}
    sphinx = Sphinx(
        scratch, None, target, scratch / "doctrees", "html", configuration,
        status=None, warningiserror=True, parallel=2,
    )  # fmt: skip
    sphinx.connect("doctree-read", _keep_anchors, priority=1)
    sphinx.connect("html-page-context", _describe)
    sphinx.build()


def sources(frozen: dict[Path, dict], published: str) -> dict[str, str]:
    """{file: text} of what Sphinx reads, and in extra/ of what it copies."""
    found = {f"{page}.md": text for page, text in generated_pages().items()}
    found["index.md"] = front_page(frozen)
    for path, page in page_files().items():
        if path.suffix == ".ipynb":
            found[f"{page}.ipynb"] = notebook_source(path, frozen.get(path, {}))
        else:
            found[f"{page}.md"] = with_links(path.read_text(encoding="utf-8"), path.parent)
    moved = {f"m/{old}.html": f"m/{new}.html" for old, new in MOVED.items()}
    moved |= {f"m/{id}.html": f"messages.html#{id}" for id in entries_by_id() if is_a_line(id)}
    for old, new in moved.items():
        url = "../" * old.count("/") + new
        head = f'<meta http-equiv="refresh" content="0; url={url}">'
        found[f"extra/{old}"] = PAGE.format(title="This page has moved", head=head, url=url)
    url = published or "index.html"
    found["extra/404.html"] = PAGE.format(title="There is no such page", head="", url=url)
    pages = [f"{published}{Path(name).with_suffix('')}.html\n" for name in found if "/extra/" not in f"/{name}"]
    found["extra/robots.txt"] = "User-agent: *\nAllow: /\n"
    if published:
        found["extra/robots.txt"] += f"Sitemap: {published}sitemap.txt\n"
        found["extra/sitemap.txt"] = "".join(pages)
    found["made/entries.js"] = f"window.entries = {json.dumps(box_data())};\n"
    found["made/strokes.js"] = _classic(STROKES.read_text(encoding="utf-8"))
    return found


def _classic(module):
    """strokes.js as a classic script, because a page opened from disk may not load a module."""
    source = re.sub(r"^export default .*$", "", module, flags=re.MULTILINE)
    source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    return f"const showFrozen = (() => {{\n{source}\nreturn showFrozen;\n}})();\n"


def _keep_anchors(app, doctree):
    """The anchors of headings in notebooks are JupyterLab's, those in Markdown files GitHub's."""
    taken = set()
    path = Path(app.env.doc2path(app.env.current_document.docname))
    for section in doctree.findall(nodes.section):
        anchor = anchor_of(section.next_node(nodes.title).astext(), path)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        section["ids"] = [anchor]


def _describe(app, name, template, context, doctree):
    """How a page begins, for search engines."""
    paragraph = doctree and doctree.next_node(nodes.paragraph)
    if paragraph:
        text = textwrap.shorten(paragraph.astext(), 160, placeholder=" …")
        context["metatags"] += f'<meta name="description" content="{escape(text)}">'
