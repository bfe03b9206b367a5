"""The arrow keys in the questions and lists of a page."""

import anywidget

# ipywidgets' radio buttons have no name, so no browser knows which of them belong together, and
# JupyterLab goes to the next cell when an arrow key is pressed.
SCRIPT = """
function together(event) {
  if (event.target.localName === 'select') event.target.dataset.lmSuppressShortcuts = '';
  const radio = event.target, question = radio.closest?.('.prediction');
  if (!question || radio.type !== 'radio') return;
  question.dataset.group ??= 'prediction-' + Math.random();
  question.querySelectorAll('[type=radio]').forEach(each => each.name = question.dataset.group);
  radio.toggleAttribute('data-lm-suppress-shortcuts', event.key.startsWith('Arrow'));
}
// Once on each page, and before JupyterLab hears of the key.
window.surprisesArrowKeys ??= !addEventListener('keydown', together, true);
export default {render: () => {}};
"""


class ArrowKeys(anywidget.AnyWidget):
    """Lets the arrow keys move within each question and each list of its page; invisible.

    >>> ArrowKeys().layout.display
    'none'
    """

    _esm = SCRIPT

    def __init__(self):
        super().__init__(layout={"display": "none"})
