"""Why did PyTorch's backward do that? Diagnosis for your own code; needs torch alone.

`trace`, `explain` and `explain_error` say which line made a gradient None, zero, NaN or wrong;
`watch` examines a training loop from outside, as `python -m autograd_surprises train.py` does for
a script; `report_card` says what a custom Function supports, and where it is silently wrong.

Inside, each imports only those above it:

numerics     finite differences, jumps and kinks, "is it elementwise?"
graph        the autograd graph behind a tensor, as data
show         tables and pictures
messages     what torch's messages mean, what helps, and how to reproduce them
doctor       trace, explain, explain_error, watch
report_card  what a custom Function supports
script       run a script as python would
report_files  what was found in a training loop, as JSON and as a page
atlas        measured default gradients of torch's operations, and what versions changed
"""

from autograd_surprises.doctor import explain, explain_error, trace, watch
from autograd_surprises.report_card import report_card

__all__ = ["explain", "explain_error", "report_card", "trace", "watch"]
