"""What a page shows in place of a live picture where it cannot run anywidget."""

from __future__ import annotations

import html

import ipywidgets

from autograd_surprises.show.findings import with_code

# Decided by what the page shows beside it, so nothing flashes while a live picture loads. In the
# dark theme, the picture is turned into its negative with the same hues.
STYLE = """<style>
:not(:has(> .jupyter-widgets-error-widget)) + .stored-picture,
:has(> .jupyter-widgets-error-widget):has(+ .stored-picture) { display: none }
[data-jp-theme-light=false] .stored-picture img { filter: invert(0.93) hue-rotate(180deg) }
</style>"""
LINE = with_code(
    "This page cannot run anywidget, so it shows a stored picture, which does not move. "
    "Run `pip install anywidget` where JupyterLab is installed, then reload the page."
)


class StoredPicture(ipywidgets.HTML):
    """Follows a LivePicture in its box, and is seen only where that one cannot run.

    >>> stored = StoredPicture()
    >>> stored.keep({"image/png": "iVBO…", "text/plain": "a line"}, {"image/png": {"width": 800}})
    """

    def __init__(self):
        super().__init__(f"{STYLE}<p>{LINE}</p>")
        self.add_class("stored-picture")

    def keep(self, data: dict, metadata: dict):
        """Show this picture: what `Picture.bundle` returns."""
        text, width = html.escape(data["text/plain"]), metadata["image/png"]["width"]
        source = f"data:image/png;base64,{data['image/png']}"
        style = f"width: {width}px; max-width: 100%"
        self.value = f'{STYLE}<img src="{source}" alt="{text}" style="{style}"><p>{LINE}</p>'
