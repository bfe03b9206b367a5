"""Every cause: when it applies, what it says, what helps, and which section teaches it.

rule       one rule, and a book of rules: the first that fits applies
detached   the history was lost, at a call in the forward pass
zeros      the gradient became 0, or nearly 0, at a step of backward
nonfinite  inf and NaN, at a step of backward or at an operation in the forward pass
missing    the gradient of a tensor is None
losses     the loss itself
wrong      a gradient that is probably not the intended one
training   a gradient that no optimizer uses
"""
