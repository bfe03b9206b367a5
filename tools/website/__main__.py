"""Build the website: python -m tools.website [FOLDER]; the default is site/."""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from autograd_surprises.atlas.record import FOLDER
from autograd_surprises.show import live_picture
from tools.address import links
from tools.notebooks import ROOT, anchor_of, notebook_files
from tools.website.generated import box_data, entries_by_id, generated_pages, is_a_line
from tools.website.recording import recorded
from tools.website.sources import front_page, notebook_source, page_files, with_links

HERE = Path(__file__).parent
STROKES = Path(live_picture.__file__).with_name("strokes.js")
MARK = "_static/box.js"  # a file that each site has
LARGEST = 14_000_000  # bytes of all files
MOVED = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">This page has moved</a></html>
"""
# Names, punctuation and spaces of code have the colour of the text around them.
PLAIN = re.compile('<span class="[npw]">(.*?)</span>')
SCRIPTS = ("strokes", "entries", "box", "page")
SHORT = ["sidebar/brand.html", "sidebar/search.html"]  # of many pages, to keep them small
CONFIGURATION = {
    "project": "Autograd Surprises",
    "html_title": "PyTorch · Autograd Surprises",
    "extensions": ["myst_nb"],
    "smartquotes": False,  # they would change the anchors of headings
    "nb_execution_mode": "off",
    "nb_render_text_lexer": "none",
    "nb_code_prompt_show": "Show {type}",
    "nb_code_prompt_hide": "Hide {type}",
    "myst_all_links_external": True,
    "html_theme": "furo",
    "html_theme_options": {"announcement": "in templates/page.html"},
    "html_baseurl": links().get("site", ""),
    "html_static_path": [str(HERE / "static"), "made"],
    "templates_path": [str(HERE / "templates")],
    "html_extra_path": ["extra"],
    "html_favicon": str(HERE / "static" / "favicon.svg"),
    "html_css_files": ["style.css"],
    "html_js_files": [(f"{name}.js", {"defer": "defer"}) for name in SCRIPTS],
    "html_sidebars": {"m/**": SHORT, "atlas/**": SHORT},
    "html_show_search_summary": False,  # a page opened from disk may not fetch others
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_copyright": False,
    "html_show_sphinx": False,
}


def main(target: Path) -> int:
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
        sys.exit(f"{target} holds something other than a site, which would be lost: name another")
    frozen = recorded(notebook_files())
    failed = build(target, frozen)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{size / 1e6:.1f} MB, limit {LARGEST / 1e6:.0f} MB: open {target / 'index.html'}")
    return failed or int(size > LARGEST)


def build(target: Path, frozen: dict[Path, dict]) -> int:
    """Write the site; `frozen` has the pictures of each notebook. Returns 1 after a warning."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources(frozen).items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        shutil.copytree(FOLDER, Path(folder, "extra", "atlas"))
        made, doctrees = Path(folder, "html"), Path(folder, "doctrees")
        options = {"status": None, "warningiserror": True, "parallel": 2}
        with patch_docutils(), docutils_namespace():  # a second site is made in one process
            sphinx = Sphinx(folder, None, made, doctrees, "html", CONFIGURATION, **options)
            sphinx.connect("doctree-read", _keep_anchors, priority=1)
            sphinx.build()
        for file in made.rglob("*.html"):
            page = file.read_text(encoding="utf-8")
            file.write_text(PLAIN.sub(r"\1", page), encoding="utf-8")
        for_debugging = shutil.ignore_patterns("*.map", "jupyter_execute")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target, ignore=for_debugging)
    return sphinx.statuscode


def sources(frozen: dict[Path, dict]) -> dict[str, str]:
    """{file: text} of what Sphinx reads, and in extra/ of what it copies."""
    found = {f"{page}.md": text for page, text in generated_pages().items()}
    menu = (HERE / "templates" / "menu.md").read_text(encoding="utf-8")
    found["index.md"] = front_page(frozen) + menu
    for path, page in page_files().items():
        if path.suffix == ".ipynb":
            found[f"{page}.ipynb"] = notebook_source(path, frozen.get(path, {}))
        else:
            found[f"{page}.md"] = with_links(path.read_text(encoding="utf-8"), path.parent)
    for id in filter(is_a_line, entries_by_id()):
        url = "../" * (1 + id.count("/")) + f"messages.html#{id}"
        found[f"extra/m/{id}.html"] = MOVED.format(url=url)
    found["made/entries.js"] = f"window.entries = {json.dumps(box_data(), default=sorted)};\n"
    found["made/strokes.js"] = _classic(STROKES.read_text(encoding="utf-8"))
    return found


def _classic(module):
    """strokes.js as a classic script, because a page opened from disk may not load a module."""
    source = re.sub("^export (default .*)?", "", module, flags=re.MULTILINE)
    return f"const showFrozen = (() => {{\n{source}\nreturn showFrozen;\n}})();\n"


def _keep_anchors(app, doctree):
    taken, path = set(), Path(app.env.doc2path(app.env.docname))
    for section in doctree.findall(nodes.section):
        anchor = anchor_of(section.next_node(nodes.title).astext(), path)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        section["ids"] = [anchor]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
