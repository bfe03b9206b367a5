"""Why is a gradient None, zero, NaN or wrong, and which line did it?

Record the forward pass, watch one backward, gather the facts of each tensor, and report the first
rule that fits.
"""

from autograd_surprises.doctor.diagnosis import explain, trace
from autograd_surprises.doctor.errors import explain_error
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.watch.watching import watch
from autograd_surprises.symptoms.finding import Finding

__all__ = ["Finding", "Report", "explain", "explain_error", "trace", "watch"]
