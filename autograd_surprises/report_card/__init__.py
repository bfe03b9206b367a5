"""What a custom Function supports, and where it is silently wrong.

vectors       tensors as vectors, and the vector to multiply them by
verdict       what a check raises if it does not work
budget        how long the questions may take
progress      what is asked now, on a terminal
isolation     isolates each check; restores torch's state
example       a function and its example inputs
sampling      where to evaluate an elementwise function
subject       what every check is given
blame         whose forward mode is wrong?
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
pair          two new processes, and what they hand in
processes     DistributedDataParallel
card          ReportCard, as text and as a table
questions     report_card(), and the check that answers each question
terminal      python -m autograd_surprises card
"""

from autograd_surprises.report_card.card import CardRow, ReportCard
from autograd_surprises.report_card.questions import report_card

__all__ = ["CardRow", "ReportCard", "report_card"]
