"""How results are shown. Pictures need matplotlib; tables need nothing.

table    a small table for notebooks and terminals
picture  a matplotlib figure that shows itself in a notebook
colours  of values, gradients and slopes
graph    the autograd graph as a picture
"""
