"""Why did PyTorch's backward do that? Diagnosis for your own code; needs torch alone.

`trace`, `explain` and `explain_error` say which line made a gradient None, zero, NaN or wrong;
`watch` examines a training loop from outside, as `python -m autograd_surprises train.py` does for
a script; `report_card` says what a custom Function supports, and where it is silently wrong.
"""

from autograd_surprises.doctor import explain, explain_error, trace, watch
from autograd_surprises.report_card import report_card

__version__ = "0.1.0"
__all__ = ["explain", "explain_error", "report_card", "trace", "watch"]
