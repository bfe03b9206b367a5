"""Build the website: python -m tools.website [FOLDER]; the default is site/."""

import shutil
import sys
import tempfile
from pathlib import Path

from tools.notebooks import ROOT, notebook_files
from tools.website.building import build, recorded

MARK = "_static/box.js"  # a file that each site has
LARGEST = 14_000_000  # bytes of all files


def main(target: Path) -> int:
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
        sys.exit(f"{target} holds something other than a site, which would be lost: name another")
    frozen = recorded(notebook_files())
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        build(target, frozen, Path(scratch))
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{size / 1e6:.1f} MB, limit {LARGEST / 1e6:.0f} MB: open {target / 'index.html'}")
    return int(size > LARGEST)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
