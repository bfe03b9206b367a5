"""A report card in JupyterLab, which drops many styles of a notebook that it does not trust."""

import nbformat

from autograd_surprises.report_card import CardRow, ReportCard
from autograd_surprises.report_card.card import COLOURS

from .lab import wait_until

NAMES = "one gradient per input", "grad_output untouched", "vmap(grad)", "memory"
ROWS = zip(NAMES, COLOURS, strict=True)
CARD = ReportCard("f", tuple(CardRow(*row, "what happened, in words") for row in ROWS))
# The least contrast of a text with what is behind it, texts that do not fit, colours of badges.
SEEN = """() => {
  const output = window.jupyterapp.shell.currentWidget.node.querySelector('.jp-RenderedHTML');
  const context = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const light = colours => {
    for (context.fillStyle of colours) context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map(level =>
      level <= 10 ? level / 255 / 12.92 : ((level / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = node => {
    const paper = [];
    for (let at = node; at; at = at.parentElement)
      paper.unshift(getComputedStyle(at).backgroundColor);
    const both = [light(paper), light([...paper, getComputedStyle(node).color])];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  };
  const texts = [...output.querySelectorAll('p, b, span, small')];
  const {right} = output.getBoundingClientRect(), colour = b => getComputedStyle(b).backgroundColor;
  return {
    contrast: Math.min(...texts.map(contrast)),
    wide: texts.filter(node => node.getBoundingClientRect().right > right + 1)
      .map(node => node.innerText),
    colours: new Set([...output.querySelectorAll('b')].map(colour)).size,
  };
}"""
CHANGE = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme}) && null"
IS_DARK = "document.body.dataset.jpThemeLight === 'false'"


def test_a_card_is_readable_in_a_notebook_that_is_not_trusted(lab, open_notebook):
    data = {"text/html": CARD._repr_html_(), "text/plain": str(CARD)}
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", data)])
    python = {"name": "python3", "display_name": "Python 3"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": python})
    nbformat.write(notebook, lab.folder / "stored_card.ipynb")
    opened = open_notebook("stored_card.ipynb")
    page = opened.page
    try:
        for theme in ("Dark", "Light"):
            page.evaluate(CHANGE, f"JupyterLab {theme}")
            assert wait_until(lambda dark=theme == "Dark": page.evaluate(IS_DARK) == dark)
            for width in 1300, 600:  # the side bar takes 300
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_timeout(300)
                seen = page.evaluate(SEEN)
                assert seen["contrast"] >= 4.5, f"{theme}, {width} px wide"
                assert seen["wide"] == [], f"{theme}, {width} px wide"
                assert seen["colours"] == 4
    finally:
        page.evaluate(CHANGE, "JupyterLab Light")
    assert opened.complaints() == []
