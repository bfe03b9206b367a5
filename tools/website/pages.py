"""Pages from notebooks, from Markdown, and the front page."""

import html
import json
import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbconvert.filters import markdown2html

from tools.address import links
from tools.notebooks import INSTALL, ROOT
from tools.website.cells import cell_html, name_of_question, picture_html
from tools.website.links import FRONT, GET_A_KERNEL, page_url

HERE = Path(__file__).parent
TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    undefined=StrictUndefined,
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
SYMPTOMS = "SymptomSearch()"  # ends the cell that shows the index of messages
NOTE = (
    '<p class="note">On this page, sliders and questions work. To run cells, '
    f'<a href="{GET_A_KERNEL}">open the notebook with a kernel</a>.</p>'
)
NEEDS_A_KERNEL = "needs-a-kernel"  # the tag of a cell that a page has no use for
# Below a heading or another question, an output no longer belongs to the question above.
ENDS_A_QUESTION = re.compile(r"^#|\?", re.MULTILINE)
PLACE_OF_SYMPTOMS = '<div data-symptoms="">'  # its place on the page


@dataclass
class Page:
    """A page of the site.

    url       the name of its file
    title     its heading, as plain text
    body      its main part, as HTML
    sections  (heading, anchor, plain text) of each section; the first has no heading
    frozen    the pictures that it shows, by name
    """

    url: str
    title: str
    body: str
    sections: list[tuple[str, str, str]] = field(default_factory=list)
    frozen: dict = field(default_factory=dict)

    @property
    def has_symptoms(self) -> bool:
        return PLACE_OF_SYMPTOMS in self.body

    @property
    def base(self) -> str:
        """What its links are relative to: the folder of the site, seen from the page's own."""
        return "../" * self.url.count("/")

    @property
    def description(self) -> str:
        """How it begins, for search engines."""
        return textwrap.shorten(self.sections[0][2], 160, placeholder=" …")

    def html(self, **values) -> str:
        return TEMPLATES.get_template("page.html").render(page=self, **values)


def file_page(path: Path, url: str, frozen: dict) -> Page:
    """The page of a notebook or of a Markdown file."""
    return notebook_page(path, url, frozen) if path.suffix == ".ipynb" else markdown_page(path, url)


def notebook_page(path: Path, url: str, frozen: dict) -> Page:
    """The page of a notebook; `frozen` maps the ids of its cells to their frozen pictures."""
    parts, asked = [], ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.id == INSTALL or NEEDS_A_KERNEL in cell.metadata.get("tags", ()):
            continue
        part = cell_html(cell, frozen, asked)
        if cell.cell_type == "code":
            asked = name_of_question(cell) or asked
        elif ENDS_A_QUESTION.search(cell.source):
            asked = ""
        if cell.source.endswith(SYMPTOMS):
            part = f"{PLACE_OF_SYMPTOMS}{part}</div>"
        parts.append(part)
    parts[0] = parts[0].replace("</h1>", f"</h1>\n{NOTE}", 1)
    return _page(url, "\n".join(parts), path.parent, frozen)


def markdown_page(path: Path, url: str) -> Page:
    """The page of a Markdown file, with the anchors that GitHub gives to its headings."""
    soup = BeautifulSoup(markdown2html(path.read_text(encoding="utf-8")), "html.parser")
    for heading in soup.find_all(re.compile("^h[1-6]$")):
        heading.find(class_="anchor-link").extract()
        heading["id"] = re.sub(r"[^\w\- ]", "", heading.get_text().lower()).replace(" ", "-")
    return _page(url, str(soup), path.parent, {})


def front_page(notebooks: list[Page]) -> Page:
    """An introduction, the first slider, and the table of notebooks."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^## The notebooks\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)[1]
    first = notebooks[0]
    name, picture = next((n, shown) for n, shown in first.frozen.items() if shown["controls"])
    soup = BeautifulSoup(markdown2html(table), "html.parser")
    _tidy(soup, ROOT)
    body = TEMPLATES.get_template("front.html").render(
        first=first,
        slider=picture_html(name, picture),
        table=str(soup),
        published=links(),
    )
    sections = sections_of(BeautifulSoup(body, "html.parser"))
    return Page(FRONT, "Autograd Surprises", body, sections, {name: picture})


def _page(url, content, folder, frozen):
    soup = BeautifulSoup(content, "html.parser")
    _tidy(soup, folder)
    return Page(url, _text(soup.h1), str(soup), sections_of(soup), frozen)


def _tidy(soup, folder):
    """Point links to pages, make ids unique, and fit tables to narrow pages."""
    for link in soup.find_all("a", href=True):
        url = page_url(link["href"], folder)
        if url:
            link["href"] = url
        else:
            link.unwrap()  # a file of the project that has no page
    for sign in soup.find_all(class_="anchor-link"):
        sign.extract()
    seen = Counter()
    for element in soup.find_all(id=True):
        seen[element["id"]] += 1
        if seen[element["id"]] > 1:
            element["id"] += f"-{seen[element['id']]}"
    for name in soup.select("td a"):  # a notebook's name may break after an underscore
        if name.string:
            broken = html.escape(name.string).replace("_", "_<wbr>")
            name.string.replace_with(BeautifulSoup(broken, "html.parser"))
    for table in soup.find_all("table"):
        columns = [_text(head) for head in table.select("thead th")]
        if len(columns) > 2:  # a phone shows each row as a paragraph
            for row in table.select("tbody tr"):
                for cell, column in zip(row.find_all(["th", "td"]), columns, strict=True):
                    cell["data-column"] = column
        table.wrap(soup.new_tag("div", attrs={"class": "wide"}))


def sections_of(soup: BeautifulSoup) -> list[tuple[str, str, str]]:
    """(heading, anchor, text) of what follows each heading, up to the next one.

    Folded parts are left out, or a search would give the answers away.
    """
    found = [["", "", []]]
    for element in soup.select("h2, h3, li, td, th, pre, legend, p:not(.note, .needs-kernel)"):
        if element.name in ("h2", "h3"):
            found.append([_text(element), element["id"], []])
        elif not element.find_parent(["p", "li", "td", "th", "pre", "details"]):
            found[-1][2].append(_text(element))
    return [(heading, anchor, "\n".join(texts)) for heading, anchor, texts in found]


def _text(element):
    return re.sub(r"\s+", " ", element.get_text()).strip()


def frozen_script(frozen: dict) -> str:
    """What a page loads: its pictures, for page.js."""
    return f"window.frozen = {json.dumps(frozen, separators=(',', ':'))};\n"
