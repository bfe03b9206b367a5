"""Interactive parts: sliders and buttons with a picture that follows.

player         Play and Step buttons beside a slider
callbacks      what a reader does, handled where cells run
controls       sliders, menus and checkboxes
tries          buttons for settings that are worth seeing
alert          what goes on in a callback, and an error in red
tracebacks     tracebacks that show the reader's code
printing       what a function prints while a widget calls it
formula        formulas that a reader types, as functions of x
drawings       pictures that follow sliders
range_search   the range that the axes of a drawing need, found one setting at a time
explorer       explore: sliders above the picture of a function's gradient, or of a drawing
backward_explorer  explore_backward: backward through a small graph, one step at a time
freezing       freeze: an explorer for a page without a kernel
playground     type a formula, and see its value and its gradient
laboratory     train a small network in few bits, and watch it learn
quiz           predict gradients, and see your score
atlas_browser  the gradient atlas to search
symptom_search  the index of symptoms, with a search
"""

from helpers.explore.backward_explorer import explore_backward
from helpers.explore.explorer import Explorer, explore
from helpers.explore.freezing import freeze
from helpers.explore.player import Playable

__all__ = ["Explorer", "Playable", "explore", "explore_backward", "freeze"]
