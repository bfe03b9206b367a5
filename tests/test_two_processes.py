"""A function of a notebook runs in two processes, and an error in one of them is raised here."""

import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from lessons.several_processes import two_processes
from lessons.several_processes.two_processes import in_two_processes

pytestmark = pytest.mark.slow  # each starts processes


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


def own_number(rank):
    import os

    return os.getpid()


def test_the_two_processes_stay_also_after_an_error_in_both():
    def fails(rank):
        dist.all_reduce(torch.ones(1))  # noqa: F821
        raise RuntimeError(f"in process {rank}")

    first, second = in_two_processes(own_number)
    assert first != second
    with pytest.raises(RuntimeError, match="in process"):
        in_two_processes(fails)
    assert in_two_processes(own_number) == [first, second]


def test_what_a_function_does_not_bring_along_is_named():
    with pytest.raises(RuntimeError, match="NameError: name 'pytest' is not defined"):
        in_two_processes(lambda rank: pytest)


def test_a_process_that_ends_is_replaced():
    def ends(rank):
        import os

        os._exit(3)

    before = in_two_processes(own_number)
    with pytest.raises(RuntimeError, match="a process ended without a word"):
        in_two_processes(ends)
    assert not {*in_two_processes(own_number)} & {*before}


def test_a_process_ends_with_the_one_that_started_it():
    code = (
        "import os, signal\nfrom lessons.several_processes.two_processes import in_two_processes\n"
        "print(*in_two_processes(lambda rank: __import__('os').getpid()), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    for number in map(int, killed.stdout.split()):
        with suppress(psutil.NoSuchProcess):
            psutil.Process(number).wait(timeout=60)


def test_an_error_is_raised_at_once_while_the_other_process_waits():
    def fails_alone(rank):
        if not rank:
            dist.all_reduce(torch.ones(1))  # noqa: F821
        raise ValueError("in process 1\nand more")

    in_two_processes(own_number)  # so that both have started
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="^ValueError: in process 1\nand more$"):
        in_two_processes(fails_alone)
    assert time.monotonic() - start < two_processes.SECONDS / 2


def test_a_machine_without_processes_is_told_to_skip(monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError("not here")

    monkeypatch.setattr(two_processes, "_waiting", [])
    monkeypatch.setattr(two_processes.START, "Process", refuse)
    with pytest.raises(RuntimeError, match=r"\(not here\): skip this section"):
        in_two_processes(lambda rank: rank)
