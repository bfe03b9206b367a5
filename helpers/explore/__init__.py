"""Sliders and buttons with a picture that follows: explore, explore_backward, freeze."""

from helpers.explore.backward_explorer import explore_backward
from helpers.explore.explorer import Explorer, explore
from helpers.explore.freezing import freeze
from helpers.explore.player import Playable

__all__ = ["Explorer", "Playable", "explore", "explore_backward", "freeze"]
