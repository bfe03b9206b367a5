"""The site in one folder: what Sphinx reads, Sphinx, and redirections."""

import json
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from autograd_surprises.atlas.record import FOLDER
from autograd_surprises.show import live_picture
from tools.address import links
from tools.website.generated import box_data, entries_by_id, generated_pages, is_a_line
from tools.website.sources import anchor_of, front_page, notebook_source, page_files, with_links

HERE = Path(__file__).parent
STROKES = Path(live_picture.__file__).with_name("strokes.js")
MOVED: dict[str, str] = {}  # {an id that is gone: the id whose page answers instead}
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">This page has moved</a></html>
"""
SCRIPTS = ("strokes.js", "entries.js", "box.js", "page.js")
SHORT = ["sidebar/brand.html", "sidebar/search.html"]  # of many pages, to keep them small
CONFIGURATION = {
    "project": "Autograd Surprises",
    "html_title": "PyTorch · Autograd Surprises",
    "extensions": ["myst_nb"],
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
    "html_js_files": [(script, {"defer": "defer"}) for script in SCRIPTS],
    "html_sidebars": {"m/**": SHORT, "atlas/**": SHORT},
    "html_show_search_summary": False,  # a page opened from disk may not fetch others
    "html_copy_source": False,
    "html_use_index": False,
    "html_show_copyright": False,
}


def build(target: Path, frozen: dict[Path, dict], scratch: Path) -> None:
    """Write the site; `frozen` has the pictures of each notebook. Sphinx works in `scratch`."""
    for name, text in sources(frozen).items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text, encoding="utf-8")
    shutil.copytree(FOLDER, scratch / "extra" / "atlas", dirs_exist_ok=True)
    sphinx = Sphinx(
        scratch, None, target, scratch / "doctrees", "html", CONFIGURATION,
        status=None, warningiserror=True, parallel=2,
    )  # fmt: skip
    sphinx.connect("doctree-read", _keep_anchors, priority=1)
    sphinx.build()


def sources(frozen: dict[Path, dict]) -> dict[str, str]:
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
        found[f"extra/{old}"] = PAGE.format(url="../" * old.count("/") + new)
    found["made/entries.js"] = f"window.entries = {json.dumps(box_data())};\n"
    found["made/strokes.js"] = _classic(STROKES.read_text(encoding="utf-8"))
    return found


def _classic(module):
    """strokes.js as a classic script, because a page opened from disk may not load a module."""
    source = re.sub("^export (default .*)?", "", module, flags=re.MULTILINE)
    return f"const showFrozen = (() => {{\n{source}\nreturn showFrozen;\n}})();\n"


def _keep_anchors(app, doctree):
    taken, path = set(), Path(app.env.doc2path(app.env.current_document.docname))
    for section in doctree.findall(nodes.section):
        anchor = anchor_of(section.next_node(nodes.title).astext(), path)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        section["ids"] = [anchor]
