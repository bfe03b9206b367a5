"""python -m autograd_surprises card, and its exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograd_surprises.command.parser import main
from autograd_surprises.facts.more import more_about


@pytest.mark.parametrize(
    "arguments, code, says",
    [
        ("faulty:RoundStraightThrough --like faulty:identity --shape 2,3", 0, "25 of 25 work"),
        ("faulty:RoundStraightThrough.apply", 1, "silently wrong"),
        ("torch.nn.functional:linear --shape 2,3 --shape 4,3 --dtype float64", 0, "card of linear"),
        ("faulty:Square --shape", 2, "expected one argument"),
        ("faulty:Square --shape 2,x", 2, "invalid sizes value: '2,x'"),
        ("faulty:Square --dtype int64", 2, "invalid choice: 'int64'"),
        ("faulty:Squire", 2, "module 'faulty' has no attribute 'Squire'"),
        ("no_such_module:f", 2, "No module named 'no_such_module'"),
        ("faulty.py:Square", 2, "write faulty:Square"),
        ("faulty", 2, "'faulty' needs to be module:function"),
        ("faulty:NoGradientForAnInput", 2, "needs to run on the example"),
        ("faulty:NESTED", 2, "fn needs to be a function, got str"),
    ],
)
def test_the_exit_code_says_whether_it_passed(arguments, code, says, capsys):
    try:
        left = main(["card", *arguments.split()])
    except SystemExit as end:  # of argparse
        left = end.code
    printed = capsys.readouterr()
    assert left == code and says in " ".join((printed.out + printed.err).split())


def test_each_message_of_torch_that_refused_a_row_is_named_once(capsys):
    main(["card", "faulty_elsewhere:NoVmapRule", "--shape", "3"])
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "more: " in line] == [f"more: {more_about('no-vmap')}"]


@pytest.mark.slow
def test_the_current_folder_is_importable():
    answer = subprocess.run(
        [sys.executable, "-m", "autograd_surprises", "card", "faulty:identity", "--shape", "3"],
        capture_output=True, text=True, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert answer.returncode == 0, answer
    assert "report card of identity: 25 of 25 work" in answer.stdout


@pytest.mark.parametrize(
    "arguments, code, says", [(["card", "--help"], 0, "--shape 4,3"), ([], 2, "which script?")]
)
def test_without_a_function_it_says_what_it_takes(arguments, code, says, capsys):
    try:
        left = main(arguments)
    except SystemExit as end:
        left = end.code
    printed = capsys.readouterr()
    assert (left, says in printed.out + printed.err) == (code, True)
