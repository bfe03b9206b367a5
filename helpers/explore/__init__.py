"""Sliders below a picture that follows: `explore`, `explore_backward`, `freeze`."""

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from helpers.explore.backward_explorer import explore_backward
    from helpers.explore.explorer import Explorer, explore
    from helpers.explore.freezing import freeze
    from helpers.explore.player import Playable

__all__ = ["Explorer", "Playable", "explore", "explore_backward", "freeze"]
