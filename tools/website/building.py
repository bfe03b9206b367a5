"""Everything in one folder, and its size."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib
import torch

from autograd_surprises.show import live_picture
from tools.address import links
from tools.notebooks import ROOT
from tools.website.atlas_pages import atlas_pages, numbers
from tools.website.entry_pages import entry_pages, missing_page, redirections
from tools.website.links import page_files
from tools.website.pages import HERE, Page, file_page, front_page, frozen_script
from tools.website.search_index import search_script

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
# Bytes: of all files, of all compressed, and of what notebook 00 loads.
LARGEST, LARGEST_PACKED, LARGEST_FIRST = 12_000_000, 5_000_000, 500_000


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


def build(target: Path, frozen: dict[Path, dict]) -> list[Page]:
    """Write the site into an empty folder; `frozen` has the pictures of each notebook."""
    static = target / "static"
    shutil.copytree(HERE / "static", static)
    for folder in "frozen", "atlas":
        (target / folder).mkdir()
    (static / "strokes.js").write_text(_classic(STROKES), encoding="utf-8")
    made = {path: file_page(path, url, frozen.get(path, {})) for path, url in page_files().items()}
    notebooks = [page for path, page in made.items() if path.suffix == ".ipynb"]
    others = [*entry_pages(), *atlas_pages(), missing_page()]
    pages = [front_page(notebooks), *made.values(), *others]
    published = links().get("site", "")
    for page in pages:
        place = notebooks.index(page) if page in notebooks else None
        before = notebooks[place - 1] if place else None
        after = notebooks[place + 1] if place is not None and page is not notebooks[-1] else None
        text = page.html(before=before, after=after, published=published)
        (target / page.url).parent.mkdir(parents=True, exist_ok=True)
        (target / page.url).write_text(text, encoding="utf-8")
        if page.frozen:
            script = target / "frozen" / f"{Path(page.url).stem}.js"
            script.write_text(frozen_script(page.frozen), encoding="utf-8")
    for file in numbers():
        shutil.copy(file, target / "atlas")
    (static / "search-index.js").write_text(search_script(), encoding="utf-8")
    listed = [page.url for page in pages if page.url != "404.html"]
    for name, text in {**redirections(), **for_crawlers(listed, published)}.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    return pages


def for_crawlers(urls: list[str], published: str) -> dict[str, str]:
    """{file: text}: robots.txt, and sitemap.xml, which needs the address of the site."""
    robots = "User-agent: *\nAllow: /\n"
    if not published:
        return {"robots.txt": robots}
    places = "".join(f"<url><loc>{published}{url}</loc></url>\n" for url in urls)
    return {
        "robots.txt": f"{robots}Sitemap: {published}sitemap.xml\n",
        "sitemap.xml": '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{places}</urlset>\n",
    }


def _classic(module):
    """strokes.js as a classic script, because a page opened from disk may not load a module."""
    source = module.read_text(encoding="utf-8")
    source = re.sub(r"^export default .*$", "", source, flags=re.MULTILINE)
    source = re.sub(r"^export ", "", source, flags=re.MULTILINE)
    return f"const showFrozen = (() => {{\n{source}\nreturn showFrozen;\n}})();\n"


def sizes(site: Path, first: str) -> dict[str, tuple[int, int]]:
    """{what: (its size, the limit), in bytes}."""
    files = [file for file in site.rglob("*") if file.is_file()]
    page = (site / first).read_text(encoding="utf-8")
    loaded = re.findall(r'(?:src|href)="((?:static|frozen)/[^"]+)"', page)
    packed = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    return {
        "the whole site": (sum(file.stat().st_size for file in files), LARGEST),
        "compressed": (packed, LARGEST_PACKED),
        "what notebook 00 loads": (
            sum((site / name).stat().st_size for name in [first, *loaded]),
            LARGEST_FIRST,
        ),
    }
