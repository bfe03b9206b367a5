"""What only the notebooks need: questions, expected errors, exercises, data, drawings, widgets."""

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from lessons.checking import check, exercise
    from lessons.expectations import expect_error, expect_warning
    from lessons.prediction import predict

__all__ = ["check", "exercise", "expect_error", "expect_warning", "predict"]
