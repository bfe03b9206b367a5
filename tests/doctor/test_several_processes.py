"""Where processes work together in a backward, the doctor stands back before it communicates."""

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from two_ranks import results_of_two, start

from autograd_surprises import explain, watch
from autograd_surprises.doctor.watch.full_steps import SIZES
from autograd_surprises.facts.processes import FREED, SPREAD, STATIC, WAITS

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
    try:
        return results_of_two(lambda rank: [SCRIPT, str(rank), str(folder)], folder)
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
    for rank in range(2):
        *_, healthy, said = compared(results[rank], case + kind)
        assert not healthy and f"rank {rank} of 2: " in said and " of 4 steps" in said
        assert f"step 1 could not be examined: {REASONS[case]}{SIZES}" in said.splitlines()
        assert said.count("could not be examined: ") == 1


@pytest.mark.parametrize("case", REASONS)
def test_sizes_are_watched_all_the_same(results, case):
    """One process has a loss of NaN; what is added up makes the gradients of both NaN."""
    apart = case in ("tensor_parallel", "spread_loss")  # where the parts differ, one step later
    *_, said = compared(results[0], f"{case}, nan")
    assert "first bad step: 3 (the loss is nan" in said or case == "spread_loss"
    *_, said = compared(results[1], f"{case}, nan")
    assert f"first bad step: {4 if apart else 3} (" in said
    assert "Another process may have made them" in said or case == "tensor_parallel"


def test_what_processes_only_average_afterwards_is_examined(results):
    for rank in range(2):
        *_, healthy, said = compared(results[rank], "parallel")
        assert healthy and said.startswith(f"rank {rank} of 2: 1 of 4 steps examined in full (1)")
    *_, healthy, said = compared(results[0], "parallel, nan")
    assert not healthy and "first bad step: 3 (the loss is nan" in said
    *_, said = compared(results[0], "static_parallel, nan")
    assert "first bad step: 3 (the loss is nan" in said


PIPELINES = ("within_backward", "by_schedule")


@pytest.mark.parametrize("case", PIPELINES)
@pytest.mark.parametrize("kind", ["", ", nan"])
def test_stages_of_a_pipeline_train_as_without_watch(results, case, kind):
    for rank in range(2):
        plain, seen, *_ = compared(results[rank], case + kind)
        assert repr(seen) == repr(plain)
        assert ("nan" in repr(plain)) == bool(kind)


@pytest.mark.parametrize("case", PIPELINES)
def test_a_stage_is_examined_unless_its_backward_sends_or_receives(results, case):
    for rank, waits in enumerate(("recv", "send")):
        *_, healthy, said = compared(results[rank], case)
        if case == "within_backward":
            assert not healthy
            assert f"could not be examined: {WAITS.format(waits)}{SIZES}" in said
        else:
            assert healthy and "1 of 4 steps examined in full (1), 3 by sizes; no alarm" in said
        *_, healthy, said = compared(results[rank], f"{case}, nan")
        assert not healthy and "first bad step: 3 (" in said


def test_a_script_ends_as_without_the_doctor(results):
    plain, *_ = compared(results[0], "sharded, nan")
    code, said, reported = results[0]["script"]
    assert (code, said) == (5, f"{plain}\n")
    assert reported.startswith("autograd_surprises: rank 0, step 3 (the loss is nan)")
    assert (
        "autograd_surprises: rank 0 of 2: none of 4 steps examined in full, 4 by sizes" in reported
    )
    assert reported.endswith(f"step 1 could not be examined: {SPREAD}{SIZES}\n")


BY_HAND = """
import sys
import torch
import torch.distributed as dist
from two_ranks import results_of_two
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank, meeting, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=2)
torch.manual_seed(rank if kind == "others" else 0)
model = nn.Linear(4, 1)
parallel = DistributedDataParallel(model) if kind in ("beside", "wrapped") else model
forward = model if kind == "beside" else parallel
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(rank)
for step in range(6):
    loss = forward(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters() if kind == "averaged" else ():
        dist.all_reduce(p.grad)
        p.grad /= 2
    optimizer.step()
    dist.barrier()
dist.destroy_process_group()
"""
RULES = {
    "averaged": "",
    "wrapped": "",
    "others": "",
    "apart": "diverged/alone",
    "beside": "diverged/beside-the-wrapper",
}


@pytest.mark.parametrize("kind", RULES)
def test_each_process_reports_and_rank_0_compares_their_weights(kind, tmp_path, monkeypatch):
    (tmp_path / "by_hand.py").write_text(BY_HAND)
    monkeypatch.setenv("WORLD_SIZE", "2")
    running, logs = [], [tmp_path / f"log{rank}" for rank in range(2)]
    for rank, log in enumerate(logs):
        monkeypatch.setenv("RANK", str(rank))
        words = f"-m autograd_surprises --json {tmp_path}/found.json {tmp_path}/by_hand.py"
        running.append(start([*words.split(), str(rank), f"{tmp_path}/meeting", kind], log))
    assert [process.wait(timeout=600) for process in running] == [0, 0]
    said, other = (log.read_text() for log in logs)
    assert "no alarm" not in other, "the others speak only if something is bad"
    files = [tmp_path / "found.json", tmp_path / "found.rank1.json"]
    found = [json.loads(file.read_text()) for file in files]
    assert [each["healthy"] for each in found] == [not RULES[kind], True]
    looked_at = "rank 0 of 2: 1 of 6 steps examined in full (1), 5 by sizes"
    if RULES[kind]:
        (bad,) = [f for report in found[0]["reports"][1:] for f in report["findings"]]
        assert (bad["name"], bad["rule"]) == ("weight, bias", RULES[kind])
        assert f"{looked_at}\nfirst bad step: " in said
    else:
        assert f"{looked_at}; no alarm" in said


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
