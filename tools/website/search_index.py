"""The text of all pages as one script, for a search that works from disk.

A page opened as a file may load a classic script, but may neither fetch data nor import a module.
"""

import base64
import gzip
import json
from pathlib import Path

MINISEARCH = Path(__file__).parent / "static" / "minisearch.js"


def search_script(pages) -> str:
    """The script that static/search.js loads: the library MiniSearch, and the packed `searchText`.

    Each page has a url, a title and sections: (heading, anchor, text). A section without words is
    left out.
    """
    sections = [
        [number, heading, anchor, " ".join(text.split())]
        for number, page in enumerate(pages)
        for heading, anchor, text in page.sections
        if heading or text.strip()
    ]
    data = {"pages": [[page.url, page.title] for page in pages], "sections": sections}
    packed = gzip.compress(json.dumps(data, ensure_ascii=False).encode(), mtime=0)
    library = MINISEARCH.read_text(encoding="utf-8")
    return f'{library}\nwindow.searchText = "{base64.b64encode(packed).decode()}";\n'
