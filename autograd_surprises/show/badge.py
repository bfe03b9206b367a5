"""A word or a sign on a colour, for HTML.

A badge has its own background and its own ink, so it reads alike on light and on dark pages.
JupyterLab keeps such plain colours in a notebook that it does not trust, and drops its own theme's
variables; GitHub drops all styles, and the bold word remains.
"""

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Badge:
    """A text on a colour. The text says it all; the colour is found sooner.

    >>> Badge("ZERO", "#cc3d1f").html.endswith(">ZERO</b>")
    True
    """

    text: str
    colour: str

    @property
    def html(self) -> str:
        box = "color:#fff;display:inline-block;padding:0 6px;border-radius:4px;white-space:nowrap"
        return f'<b style="background:{self.colour};{box}">{html.escape(self.text)}</b>'
