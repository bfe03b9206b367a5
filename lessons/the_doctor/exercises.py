"""Check on the doctor: the step at which a training loop breaks."""

import torch
from torch import nn

from lessons.asking.answers import as_number, call_answer
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of

STEPS = 6


@check_of(
    "the_doctor.1",
    "The step that breaks the loop, in your own test.",
    # inputs, dtype, and the step whose batch has a NaN
    inputs=[(2, torch.float32, 4), (3, torch.float64, None)],
)
def check_first_bad_step(answer, wide, dtype, bad):
    batches = random_tensors(0, *[(8, wide)] * STEPS, dtype=dtype)
    if bad is not None:
        batches[bad - 1][3] = torch.nan
    model, runs = nn.Linear(wide, 1, dtype=dtype), []

    def train(model, optimizer):
        runs.append(model)
        for x in batches:
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    yours = call_answer(answer, model, optimizer, train, needs_result=False)
    _expect_step(yours, bad, runs)


def _expect_step(yours, bad, runs):
    if not runs:
        raise Wrong("train was not called: call train(model, optimizer) inside `with watch(...)`.")
    if bad is None:
        if yours is not None:
            raise Wrong(f"a loop without a fault: yours {yours!r}, expected None.")
        return
    where = f"a loop with a NaN in step {bad}: "
    if yours is None:
        raise Wrong(
            f"{where}yours None, expected {bad}. w.reports has a report of each step that was "
            "examined; its `healthy` is False for a bad one."
        )
    step = as_number(yours, where)
    if step != bad:
        reasons = {
            bad - 1: "Steps count from 1.",
            STEPS: "That is the last step: every step after the first bad one is NaN, too.",
            1: "That is the first step, which is examined and healthy.",
        }
        raise Wrong(f"{where}yours {step:g}, expected {bad}.", reasons.get(step, ""))
