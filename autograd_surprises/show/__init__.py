"""How results are shown. Pictures need matplotlib; tables need nothing.

table          a small table for notebooks and terminals
picture        a matplotlib figure that shows itself in a notebook
colours        of values, gradients and slopes
graph_picture  boxes and links: the autograd graph, and what a backward did in it
"""
