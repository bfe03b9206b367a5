"""What only the notebooks need: questions, expected errors, exercises, data, drawings, widgets."""

import warnings

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from lessons.asking.checking import check
    from lessons.asking.expectations import expect_error, expect_warning
    from lessons.asking.prediction import predict

# torch uses it in jvp; on Python 3.14 it warns
warnings.filterwarnings("ignore", ".torch.jit.script")

__all__ = ["check", "expect_error", "expect_warning", "predict"]
