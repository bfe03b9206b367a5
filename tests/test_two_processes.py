"""A function of a notebook runs in two processes, and an error in one of them is raised here."""

import subprocess

import pytest

from autograd_surprises.report_card import pair
from lessons.two_processes import in_two_processes


@pytest.fixture
def processes_are_allowed():
    try:
        subprocess.run(["true"], check=True)
    except OSError as error:
        pytest.skip(f"this machine starts no second process: {error}")


def test_both_ranks_return_what_they_computed_together(processes_are_allowed):
    def added(rank):
        both = torch.tensor([1.0, rank])  # noqa: F821
        dist.all_reduce(both)  # noqa: F821
        try:
            pytest  # noqa: B018
        except NameError as error:  # only code is sent
            return rank, both, str(error)

    (first, one, missing), (second, other, _) = in_two_processes(added)
    assert (first, second) == (0, 1)
    assert one.tolist() == other.tolist() == [2.0, 1.0]
    assert missing == "name 'pytest' is not defined"


def test_an_error_is_raised_at_once_while_the_other_process_waits(processes_are_allowed):
    def fails_alone(rank):
        if not rank:
            dist.all_reduce(torch.ones(1))  # noqa: F821
        raise RuntimeError("in process 1\nand more")

    with pytest.raises(RuntimeError, match="^in process 1\nand more$"):
        in_two_processes(fails_alone)


def test_a_machine_without_processes_is_told_to_skip(monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError("not here")

    monkeypatch.setattr(pair.subprocess, "Popen", refuse)
    with pytest.raises(RuntimeError, match=r"\(not here\): skip this section"):
        in_two_processes(lambda rank: rank)
