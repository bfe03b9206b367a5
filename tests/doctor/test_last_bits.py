"""Parameters with other last bits, as on another processor, get the same rules."""

import pytest
import torch

from autograd_surprises.doctor import trace
from cases.claims import seed
from cases.judge import Said
from cases.rule_ids import ids, stored
from cases.small import HEALTHY

SUMS_THAT_CANCEL = {
    name
    for name, told in stored()["healthy steps"].items()
    if any("cancel/" in id for id in ids(told))
}
BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@torch.no_grad()
def move_last_bits(parameter):
    """Each number but 0 by up to two units in its last place."""
    bits = parameter.view(BITS[parameter.itemsize])
    steps = torch.randint(-2, 3, parameter.shape, dtype=bits.dtype)
    parameter.copy_(torch.where(parameter == 0, bits, bits + steps).view(parameter.dtype))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in SUMS_THAT_CANCEL))
        for name in HEALTHY
    ],
)
def test_the_rules_of_a_healthy_step_do_not_depend_on_the_last_bits(name):
    seed()
    step = HEALTHY[name].build()
    for parameter in step.model.parameters():
        if parameter.is_floating_point() and parameter.is_contiguous():
            move_last_bits(parameter)
    seed()
    with trace() as recording:
        loss = step.compute()
        report = recording.explain(loss, step.model, optimizer=step.optimizer)
    assert ids(Said(report.findings, str(report)).told) == ids(stored()["healthy steps"][name])
