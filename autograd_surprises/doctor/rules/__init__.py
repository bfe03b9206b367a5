"""Every cause: when it holds, what is said of it, what helps, and which section teaches it.

rule       one rule, and a book of them: the first that fits tells
cuts       the history was lost: asked of a call in the forward pass
zeros      the gradient became 0, or nearly: asked of a step of backward
nonfinite  inf and NaN: asked of a step of backward, or of an operation in the forward pass
missing    the gradient is None: asked of a tensor
losses     the loss itself
wrong      a gradient that is probably not the one that was meant
training   a gradient that no optimizer uses
"""
