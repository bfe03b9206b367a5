"""Interactive parts: sliders and buttons with a picture that follows.

player         Play and Step buttons beside a slider
callbacks      what a reader does, handled where cells run
controls       sliders, menus and checkboxes
alert          what goes on in a callback, and an error in red
tracebacks     tracebacks that show the reader's code
printing       what a function prints while a widget calls it
drawings       pictures that follow sliders
range_search   the range that the axes of a drawing need, found one setting at a time
explorer       explore: sliders above the picture of a function's gradient, or of a drawing
freezing       freeze: an explorer for a page without a kernel
laboratory     train a small network in few bits, and watch it learn
quiz           predict gradients, and see your score
atlas_browser  the gradient atlas to search
symptom_search  the index of messages, with a search
"""

from helpers.widgets.explorer import Explorer, explore
from helpers.widgets.freezing import freeze
from helpers.widgets.player import Playable

__all__ = ["Explorer", "Playable", "explore", "freeze"]
