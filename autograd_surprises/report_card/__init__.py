"""What a custom Function supports, and where it is silently wrong.

vectors       some tensors as one vector, and back
verdict       how a check ends, if it does not work
comparing     are these numbers right?
isolation     isolates each check; restores torch's state
example       a function and its example inputs
sampling      where to ask an elementwise function
subject       what every check is given
validation    bad input is refused
slopes        is the gradient the slope?
first_order   the first gradient
second_order  gradients of gradients
transforms    torch.func
in_place      writing into tensors
precision     other dtypes and extreme numbers
shapes        empty, 0-d, non-contiguous
memory        what is kept for backward
compiled      torch.compile
processes     DistributedDataParallel
questions     every question, and the check that answers it
card          ReportCard, as text and as a table
asking        report_card()
"""

from autograd_surprises.report_card.asking import report_card
from autograd_surprises.report_card.card import CardRow, ReportCard

__all__ = ["CardRow", "ReportCard", "report_card"]
