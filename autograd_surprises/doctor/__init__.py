"""Why is a gradient None, zero, NaN or wrong, and which line did it?

Record the forward pass, watch one backward, gather the facts of each tensor, and report the first
rule that fits. Each module imports only those above it:

places         lines of code, and the tensors that the variables there hold
finding        what happened to the gradient of one tensor
steps          what backward did at one node of the graph
arrived_gradients  what is kept of the gradient of one tensor
factors        which parameter is a factor
rules          every cause: when it applies, what it says, what helps, which section teaches it
several_processes  backwards in which several processes work together
forward_calls  one call of torch in the forward pass
forgetting     which calls of a recording are still needed
reused_gradients  gradients that an optimizer used twice
patches        a method of torch, replaced for a while
setup_lines    lines that built an optimizer, stored a tensor, registered a hook, ...
recorder       what the forward pass did
history        queries on a recording
by_backward    gradients by backward(), where torch.autograd.grad cannot work
backward       one backward, watched
noise          what if something else had arrived? The proof of a cause
births         where inf and NaN of the forward pass came from
case           one loss and what is known about it
judging        what happened to the gradient of each tensor
constant_terms  terms of the loss that train nothing
advice         what a gradient does not show
errors         explain_error(), and the lines that an error is about
boxes          one backward as boxes and links, for a picture
report         findings as text, table and data
unchanged      what a backward changes beside gradients, put back
diagnosis      explain()
tracing        trace()
same_graph      lines of a recorded step, for a later one with the same graph
gradient_norms  how large the gradients of an optimizer are
trained         the model and the optimizers of a loss
first_steps     what the first two steps of an optimizer did
updates         what the first steps of all optimizers did, as findings
interception    calls of backward() and of step()
watching        watch()
"""

from autograd_surprises.doctor.diagnosis import explain
from autograd_surprises.doctor.errors import explain_error
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.tracing import trace
from autograd_surprises.doctor.watching import watch
from autograd_surprises.symptoms.finding import Finding

__all__ = ["Finding", "Report", "explain", "explain_error", "trace", "watch"]
