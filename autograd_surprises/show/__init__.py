"""How results are shown. Pictures need matplotlib and Pillow; the rest needs nothing.

badge          a word or a sign on a colour
findings       what was found and why, as text and as HTML
table          a small table for notebooks and terminals
colours        the colours of values, gradients and slopes
stroke_recorder  what matplotlib draws, as strokes
live_picture   a figure that a page replays from strokes
stored_picture  what a page shows where it cannot run anywidget
widget_view    the part of an output that names the widget to show
picture        a matplotlib figure that shows itself in a notebook
graph_picture  boxes and links: the autograd graph, and what a backward did in it
"""
