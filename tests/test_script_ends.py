"""How a watched script ends, what it starts, and which arguments are whose."""

import json
import signal
import sys

import pytest
import torch
import torch._dynamo  # once here, and not in each fork
from test_script import WATCH, make_folder, run, watched  # noqa: F401  (a fixture)

from autograd_surprises import __version__
from autograd_surprises.command.parser import main, whole_parser
from autograd_surprises.command.report_files import as_data
from autograd_surprises.command.script import run_module
from autograd_surprises.command.watched_script import STOPPED
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.watch.step_reports import StepReport
from autograd_surprises.recording.history import History
from autograd_surprises.recording.places import Where
from autograd_surprises.symptoms.finding import Finding


@pytest.mark.slow
def test_it_stops_at_the_first_alarm(folder):
    code, out, err = watched(folder, "--steps", "2,3", "--stop", "train.py", "9", "0")
    assert code == STOPPED and len(out.splitlines()) == 6
    assert "3 of 7 steps examined in full (2, 3, 7)" in err and "Traceback" not in err


@pytest.mark.slow
def test_it_stops_with_a_summary_also_if_the_alarm_comes_at_the_end(folder):
    (folder / "in_vain.py").write_text("""
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 2)).detach().requires_grad_().sum().backward()
optimizer.step()
""")
    code, out, err = watched(folder, "--stop", "--json", "in_vain.json", "in_vain.py")
    assert code == STOPPED and "no loss reaches what SGD holds" in err.splitlines()[-2]
    assert not json.loads((folder / "in_vain.json").read_text())["healthy"]
    assert watched(folder, "in_vain.py")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM"])
def test_an_interrupted_script_ends_with_a_summary_and_as_without_watch(folder, end):
    words = "--json", f"{end}.json", "train.py", "1", end
    if end == "SIGTERM":
        code, out, err = watched(folder, *words)
        assert code == -signal.SIGTERM
    else:
        code, out, err = run(folder, *WATCH, *words)
        # With tabulate, which torch imports at the end, Python forgets that it was SIGINT.
        assert code == run(folder, sys.executable, "train.py", "1", end)[0] != 0
    assert err.count("KeyboardInterrupt") == (end == "SIGINT")
    assert err.count("1 step, examined in full") == 1
    assert json.loads((folder / f"{end}.json").read_text())["steps"] == 1


@pytest.mark.slow
def test_python_may_leave_out_docstrings(folder):
    (folder / "trains.py").write_text("print('trains')")
    assert run(folder, sys.executable, "-OO", *WATCH[1:], "trains.py")[:2] == (0, "trains\n")


def test_an_unknown_option_is_refused_by_its_command(capsys):
    with pytest.raises(SystemExit):
        main(["card", "torch:relu", "--unknown"])
    assert "autograd_surprises card: error: unrecognized" in capsys.readouterr().err


def test_somebody_else_handles_the_signal(folder, monkeypatch):
    monkeypatch.setenv("RANK", "1")  # it speaks only if something is bad
    (folder / "handles.py").write_text("""
import os, signal
ours = signal.getsignal(signal.SIGTERM)
def handler(*what):
    print("handled")
    ours(*what)
signal.signal(signal.SIGTERM, handler)
os.kill(os.getpid(), signal.SIGTERM)
print("goes on")
""")
    code, out, err = watched(folder, "handles.py")
    assert (code, out.split("\n")[:2]) == (0, ["handled", "goes on"])
    assert err.count("no training step was seen") == 2, "before the signal, and at the end"


@pytest.mark.slow
def test_each_process_of_torchrun_has_a_report_of_its_own(folder, monkeypatch):
    # another test may have formed a group in this process
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    code, out, err = watched(folder, "--json", "of_ranks.json", "train.py", "7", "5")
    assert code == 5 and len(out.splitlines()) == 9
    assert err.startswith("autograd_surprises: rank 1, step 7 (")
    assert "rank 1 of 2: 2 of 7 steps examined in full (1, 7)" in err
    assert not (folder / "of_ranks.json").exists() and (folder / "of_ranks.rank1.json").exists()
    monkeypatch.setenv("RANK", "0")
    err = watched(folder, "--json", "of_ranks.json", "train.py", "7", "5")[2]
    assert "rank 0 of 2: 2 of 7 steps examined in full (1, 7)" in err


def test_the_line_inside_a_library_is_data_too():
    inside = Where("library.py", 7)
    places = (("at", Where("train.py", 3, "body", inside)),)
    found = Finding("w", "zero", "detach", places=places)
    report = Report("1.0", (found,), None, History(), {})
    (place,) = as_data(StepReport(1, "the first one", report))["findings"][0]["places"]
    assert (place["line"], place["module"]) == (3, "body")
    assert (place["inside"]["file"], place["inside"]["line"]) == ("library.py", 7)


@pytest.mark.slow
def test_child_processes_are_not_watched(folder):
    code, out, err = watched(folder, "workers.py")
    assert code == 0, err
    assert out.splitlines() == ["child torch._tensor", *["modes 0"] * 8]
    assert err.count("autograd_surprises:") == 2 and "2 steps" in err


NO_SENSE = [
    ("missing.py", "there is no file missing.py"),
    ("--steps 2,0 train.py", "argument --steps"),
    ("--steps one train.py", "'one'"),
    ("--steps one train.py", "1,100"),
    ("--step 1 train.py", "error"),
]


@pytest.mark.parametrize("line, why", NO_SENSE)
def test_what_makes_no_sense_is_refused(line, why, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert why in capsys.readouterr().err


def test_it_says_its_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"autograd-surprises {__version__}\n"


def test_a_module_that_is_not_there():
    with pytest.raises(ImportError, match="No module named nowhere"):
        run_module("nowhere")


LINES = [
    ("train.py --steps 3", ["train.py", "--steps", "3"], None, (1,)),
    ("--steps 1,100 train.py", ["train.py"], None, [1, 100]),
    ("--stop -m package.train --stop", [], ["package.train", "--stop"], (1,)),
]


@pytest.mark.parametrize("line, script, module, steps", LINES)
def test_options_end_where_the_script_begins(line, script, module, steps):
    options = whole_parser().parse_args(["run", *line.split()])
    assert (options.script, options.module, options.steps) == (script, module, steps)
