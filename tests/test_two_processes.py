"""A function of a notebook runs in two processes, and an error in one of them is raised here."""

import subprocess

import pytest

from autograd_surprises.report_card import pair
from lessons.two_processes import in_two_processes


@pytest.fixture(autouse=True)
def processes_are_allowed():
    try:
        subprocess.run(["true"], check=True)
    except OSError as error:
        pytest.skip(f"this machine starts no second process: {error}")


def test_both_ranks_return_what_they_computed_together():
    def added(rank):
        both = torch.tensor([1.0, rank])  # noqa: F821
        dist.all_reduce(both)  # noqa: F821
        return rank, both

    (first, one), (second, other) = in_two_processes(added)
    assert (first, second) == (0, 1)
    assert one.tolist() == other.tolist() == [2.0, 1.0]


def test_an_error_in_one_process_is_raised_here():
    def fails(rank):
        if rank:
            raise RuntimeError("in process 1\nand more")
        return rank

    with pytest.raises(RuntimeError, match="^in process 1\nand more$"):
        in_two_processes(fails)


def test_an_error_is_raised_at_once_while_the_other_process_waits(monkeypatch):
    def fails_alone(rank):
        if not rank:
            dist.all_reduce(torch.ones(1))  # noqa: F821
        raise RuntimeError("in process 1")

    def fails_alone_in_another_way(rank):
        if not rank:
            dist.all_reduce(torch.ones(1))  # noqa: F821
        raise ValueError("in process 1\nand more")

    monkeypatch.setattr(pair, "SECONDS", 30)
    with pytest.raises(RuntimeError, match="^in process 1$"):
        in_two_processes(fails_alone)
    with pytest.raises(RuntimeError, match="^ValueError: in process 1\nand more$"):
        in_two_processes(fails_alone_in_another_way)


def test_what_a_function_does_not_bring_along_is_named():
    with pytest.raises(RuntimeError, match="NameError: name 'pytest' is not defined"):
        in_two_processes(lambda rank: pytest)


def test_a_machine_without_processes_is_told_to_skip(monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError("not here")

    monkeypatch.setattr(pair.subprocess, "Popen", refuse)
    with pytest.raises(RuntimeError, match=r"\(not here\): skip this section"):
        in_two_processes(lambda rank: rank)
