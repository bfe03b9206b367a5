"""Why is a gradient None, zero, NaN or wrong, and which line did it?

places       lines of somebody's code, and the tensors that names there hold
finding      what happened to the gradient of one tensor
causes       every cause in words: a table
calls        one call of torch
recording    trace(): what the forward pass did
history      questions to a recording
steps        what backward did at one node
backward     one backward, watched
conditions   under which a reason holds
reasons      why an operation gives zero or NaN: tables
case         one loss and what is known of it
nonfinite    where inf and NaN come from
judging      what happened to the gradient of each tensor
advice       what a gradient does not show
examination  explain()
errors       what autograd's messages mean: a table
report       findings as text, table and data
graph        the graph as boxes and links, and as Mermaid
picture      the graph as a picture
"""

from autograd_surprises.doctor.errors import explain_error
from autograd_surprises.doctor.examination import explain
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.recording import trace
from autograd_surprises.doctor.report import Report

__all__ = ["Finding", "Report", "explain", "explain_error", "trace"]
