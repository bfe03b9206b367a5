"""What only the notebooks need: questions, expected errors, exercises, data, drawings, widgets."""

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from lessons.checking import check
    from lessons.expectations import expect_error, expect_warning
    from lessons.prediction import predict

__all__ = ["check", "expect_error", "expect_warning", "predict"]
