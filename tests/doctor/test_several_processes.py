"""Where processes work together in a backward, the doctor stands back before it communicates."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from autograd_surprises import explain, watch
from autograd_surprises.report_card import pair
from autograd_surprises.several_processes import FREED, SPREAD, STATIC, WAITS

pytestmark = pytest.mark.slow  # each starts processes

SCRIPT = str(Path(__file__).with_name("trained_together.py"))
REASONS = {
    "sharded": SPREAD,
    "sharded_and_kept": SPREAD,
    "sharded_in_part": SPREAD,
    "flat": SPREAD,
    "tensor_parallel": SPREAD,
    "spread_loss": SPREAD,
    "own_function": WAITS.format("allreduce"),
    "hook": WAITS.format("allreduce"),
    "static_parallel": STATIC,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What both processes hand in; if they hang, an error."""
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair, "SECONDS", 600)  # if one waits in vain, gloo raises an error before
        try:
            return pair.results_of_two(lambda rank: [SCRIPT, str(rank), str(folder)], folder)
        except RuntimeError as error:
            if "record_event" not in str(error):
                raise
            pytest.skip("this torch (2.6) has no fully_shard on the CPU")


def compared(result, case):
    found = result["compared"][case]
    if isinstance(found, str):
        pytest.skip(f"not without the doctor, either: {found}")
    return found


@pytest.mark.parametrize("case", [*REASONS, "parallel"])
@pytest.mark.parametrize("kind", ["", ", nan"])
def test_two_processes_train_as_without_watch(results, case, kind):
    for rank in range(2):
        plain, seen, *_ = compared(results[rank], case + kind)
        assert repr(seen) == repr(plain)
        assert ("nan" in repr(plain)) == bool(kind)


@pytest.mark.parametrize("case", REASONS)
@pytest.mark.parametrize("kind", ["", ", nan"])
def test_why_it_stands_back_is_said_once_and_that_is_not_healthy(results, case, kind):
    *_, healthy, said = compared(results[0], case + kind)
    assert not healthy
    assert f"step 1 could not be examined: {REASONS[case]}" in said.splitlines()
    assert said.count("could not be examined") == 1


def test_what_processes_only_average_afterwards_is_examined(results):
    *_, healthy, said = compared(results[0], "parallel")
    assert healthy and said.startswith("4 steps, examined: 1;")
    *_, healthy, said = compared(results[0], "parallel, nan")
    assert not healthy and "first bad step: 3 (the loss is nan" in said
    *_, said = compared(results[0], "static_parallel, nan")
    assert "first bad step: 3 (the loss is nan" in said


def test_a_script_ends_as_without_the_doctor(results):
    plain, *_ = compared(results[0], "sharded, nan")
    code, said, reported = results[0]["script"]
    assert (code, said) == (5, f"{plain}\n")
    assert reported.splitlines() == [
        "autograd_surprises: 4 steps, examined: none",
        f"step 1 could not be examined: {SPREAD}",
    ]


def test_a_parameter_whose_memory_is_freed_is_not_read():
    weight = torch.nn.Parameter(torch.ones(3))
    bias = torch.nn.Parameter(torch.ones(1))
    model = torch.nn.ParameterList([weight, bias])
    optimizer = torch.optim.SGD([bias], lr=0.1)
    with watch() as w:
        loss = (weight * bias * float("nan")).sum()
        size = weight.untyped_storage().size()
        weight.untyped_storage().resize_(0)
        with pytest.raises(ValueError, match=FREED):
            explain(loss, model)
        torch.autograd.backward(loss, inputs=[weight])
        weight.untyped_storage().resize_(size)
        optimizer.step()
    assert not w.healthy and FREED in str(w)
