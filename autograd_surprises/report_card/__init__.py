"""What a custom Function supports, and where it is silently wrong."""

from autograd_surprises.report_card.card import CardRow, ReportCard
from autograd_surprises.report_card.questions import report_card

__all__ = ["CardRow", "ReportCard", "report_card"]
