"""What a custom Function supports, and where it is silently wrong.

card          rows, and the text and table that show them
verdict       how a question ends, and how numbers are compared
isolation     each question in a world of its own
points        where to ask an elementwise function
subject       the function, its example inputs, bad input
slopes        the true slope, and the gradient against it
first_order   the first gradient
second_order  gradients of gradients
transforms    torch.func
in_place      writing into tensors
precision     other dtypes and extreme numbers
shapes        empty, 0-d, non-contiguous
memory        what is kept for backward
compiled      torch.compile
processes     DistributedDataParallel
examination   report_card()
"""

from autograd_surprises.report_card.card import ReportCard, Row
from autograd_surprises.report_card.examination import report_card

__all__ = ["ReportCard", "Row", "report_card"]
