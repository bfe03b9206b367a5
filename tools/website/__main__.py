"""Build the website: python -m tools.website [FOLDER]; the default is site/."""

import shutil
import sys
from pathlib import Path

from tools.notebooks import ROOT, notebook_files
from tools.website.building import build, recorded, sizes

MARK = "static/symptoms.js"  # a file that each site has


def main(target: Path) -> int:
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
        sys.exit(f"{target} holds something other than a site, which would be lost: name another")
    frozen = recorded(notebook_files())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    pages = build(target, frozen)
    too_large = False
    for what, (size, most) in sizes(target, pages[1].url).items():
        verdict = "" if size <= most else "  TOO LARGE"
        print(f"{what}: {size / 1000:,.0f} kB, limit {most / 1000:,.0f} kB{verdict}")
        too_large |= size > most
    print(f"{len(pages)} pages: open {target / 'index.html'}")
    return int(too_large)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
