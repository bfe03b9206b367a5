"""python -m autograd_surprises: a script runs as it does without, and its gradients are watched."""

import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_surprises.command.parser import main
from autograd_surprises.command.watched_script import STOPPED

ROOT = Path(__file__).parent.parent
WATCH = [sys.executable, "-m", "autograd_surprises"]

TRAIN = """
import os, signal, sys
import torch
from torch import nn
import neighbour


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def main(steps, end):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(1, steps + 1):
        loss = (model(torch.rand(8, 4)) * (step != 7)).abs().log().mean()  # bad
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(__name__, __file__, sys.argv, sys.path[0], __spec__ and __spec__.name)
    print(sys.modules["__main__"].main is main, neighbour.__name__, torch.rand(1).item())
    if end == "raise":
        raise ValueError("the end")
    if end in ("SIGINT", "SIGTERM"):
        os.kill(os.getpid(), getattr(signal, end))
    sys.exit(int(end))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
"""
WORKERS = """
import multiprocessing
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        print("modes", torch.overrides._len_torch_function_stack(), flush=True)
        return torch.ones(3)


def child(queue):
    weight = torch.ones(2, requires_grad=True)
    (weight * float("nan")).sum().backward()
    queue.put(torch.Tensor.backward.__module__)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print("child", queue.get())
    process.join()
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(Data(), batch_size=4, num_workers=1):
        model(batch).sum().backward()
        optimizer.step()
"""


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").touch()
    (folder / "package" / "train.py").write_text(TRAIN)
    (folder / "train.py").write_text(TRAIN)
    (folder / "workers.py").write_text(WORKERS)
    (folder / "neighbour.py").touch()
    return folder


def environment(folder):
    return {**os.environ, "PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder)}


def run(folder, *command):
    # In the background of a shell, the script would otherwise ignore an interrupt.
    options = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, **options
    )
    return done.returncode, done.stdout, done.stderr


def forked(folder, call, *arguments):
    """What call(*arguments) does as a process in this folder: torch is imported already."""
    process = os.fork()
    if not process:
        code = 99
        try:
            os.chdir(folder)
            os.environ.update(environment(folder))
            # In the background of a shell, the script would otherwise ignore it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, name in (1, "stdout"), (2, "stderr"):
                file = Path(name).open("w", buffering=1)  # noqa: SIM115
                os.dup2(file.fileno(), number)
                setattr(sys, name, file)
            sys.path.insert(0, str(folder))
            code = call(*arguments) or 0
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    texts = (folder / name for name in ("stdout", "stderr"))
    return os.waitstatus_to_exitcode(status), *(text.read_text() for text in texts)


FORKS = hasattr(os, "fork") and sys.platform != "darwin"  # where they are not safe


def watched(folder, *words):
    return forked(folder, main, list(words)) if FORKS else run(folder, *WATCH, *words)


def plain_module(folder, *words):
    """As `python -m` runs it."""
    if not FORKS:
        return run(folder, sys.executable, "-m", *words)

    def runs():
        sys.argv = list(words)
        try:
            runpy._run_module_as_main(words[0])
        except ValueError:  # what the script raises
            return 1

    return forked(folder, runs)


@pytest.mark.slow
def test_a_script_runs_as_without_and_its_bad_step_is_explained(folder):
    plain = run(folder, sys.executable, "train.py", "9", "5")
    code, out, err = run(folder, *WATCH, "--json", "found.json", "train.py", "9", "5")
    assert (code, out) == (5, plain[1]) and plain[0] == 5 and plain[2] == ""
    assert "step 1 (the first one): healthy" in err
    assert err.count("infinite at 0 [train.py:22: loss = ") == 1, "once, in the summary"
    assert (
        "2 of 9 steps examined in full (1, 7), 7 by sizes\nfirst bad step: 7 (the loss is inf"
        in err
    )

    found = json.loads((folder / "found.json").read_text())
    assert (found["steps"], found["healthy"]) == (9, False)
    assert [each["step"] for each in found["reports"]] == [1, 7]
    bad = {each["name"]: each for each in found["reports"][1]["findings"]}["first.weight"]
    assert (bad["status"], bad["cause"]) == ("nan", "infinite-derivative")
    assert bad["rule"] == "infinite-derivative/backward"
    assert bad["section"].startswith("07_nan.ipynb#")
    assert bad["places"][0]["source"].endswith("# bad")


NOT_WRITABLE = {
    "missing/found": "there is no folder",
    "package": "is a folder",
    "long" * 99: "cannot write",  # also for a user who may write everywhere
}


@pytest.mark.parametrize("name", NOT_WRITABLE)
def test_a_report_that_cannot_be_written_is_refused_before_the_script_runs(
    folder, name, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    before = set(folder.rglob("*"))
    with pytest.raises(SystemExit, match="2"):
        main(["--json", name, "train.py", "9", "5"])
    said = capsys.readouterr()
    assert "error: " in said.err and NOT_WRITABLE[name] in said.err
    assert not said.out and set(folder.rglob("*")) == before


def test_a_report_of_an_earlier_run_stays_until_the_new_one_is_there(folder):
    (folder / "old.json").write_text("old")
    (folder / "reads.py").write_text("print(open('old.json').read())")
    assert watched(folder, "--json", "old.json", "reads.py")[:2] == (0, "old\n")
    assert json.loads((folder / "old.json").read_text())["steps"] == 0


LOST = {"later/found": "No such file or directory", "/dev/full": "No space left on device"}


@pytest.mark.parametrize("name", LOST)
def test_a_report_that_is_lost_in_the_end_does_not_cost_the_exit_code(folder, name):
    if not Path("/dev/full").exists():
        pytest.skip("no full disk here")
    (folder / "removes.py").write_text("""
import os, sys
os.rmdir("later")
os.chdir("package")
sys.exit(5)
""")
    (folder / "later").mkdir()
    code, _, err = watched(folder, "--json", name, "removes.py")
    assert code == 5 and "Traceback" not in err
    said = f"autograd_surprises: {folder / name} was not written: {LOST[name]}"
    assert err.splitlines()[-1] == said


LOOP = """
import os, sys, threading
import torch
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step(number=0, times=1):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 2)).square().mean() * times
    loss.backward()
    optimizer.step()
"""


def loop(folder, lines, *options):
    (folder / "loop.py").write_text(f"{LOOP}\n{lines}")
    return watched(folder, *options, "loop.py")


def test_a_report_that_is_not_written_whole_leaves_what_was_there(folder, monkeypatch):
    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:9])
        raise OSError(28, "No space left on device")

    (folder / "there.json").write_text("an earlier one")
    monkeypatch.setattr(Path, "write_bytes", full)
    for name in "there.json", "new.json":
        code, _, err = loop(folder, "step()", "--json", name)
        assert code == 0 and f"{name} was not written: No space left on device" in err
    assert (folder / "there.json").read_text() == "an earlier one"
    assert not [*folder.glob("*.part"), *folder.glob("new.json")]


def test_training_goes_on_when_nobody_reads_its_reports_any_more(folder):
    gone = "r, w = os.pipe(); os.dup2(w, 2); os.close(r); os.close(w)"
    code, out, _ = loop(folder, f"{gone}\nfor _ in range(3): step()\nprint('trained')")
    assert (code, out) == (0, "trained\n")


SWALLOWS = """
for number in range(20):
    try:
        step(number, float("nan") if number == 5 else 1)
    except:
        print("skipped", number)
"""


def test_it_stops_although_the_script_swallows_that(folder):
    code, out, err = loop(folder, SWALLOWS, "--stop", "--json", "swallowed.json")
    assert (code, out) == (STOPPED, "skipped 5\n")
    assert "2 of 6 steps examined in full (1, 6)" in err
    assert json.loads((folder / "swallowed.json").read_text())["steps"] == 6
    ends = SWALLOWS.replace("20", "6")  # nothing comes after what was swallowed
    assert loop(folder, ends, "--stop")[0] == STOPPED
    assert loop(folder, SWALLOWS)[0] == 0


TWO_ALARMS = """
parts = [torch.nn.Linear(3, 1) for _ in range(2)]
optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=0.1)
for number in range(3):
    try:
        for part in parts:
            (part(torch.ones(2, 3)) * 0).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    except:
        print("skipped", number)
"""


def test_what_stops_a_script_is_raised_once(folder):
    """The second alarm of a step is not raised from the hook that runs next."""
    code, out, err = loop(folder, TWO_ALARMS, "--stop")
    assert (code, out) == (STOPPED, "skipped 0\n"), err
    before_the_summary = err.partition("examined in full")[0]
    assert before_the_summary.count("autograd_surprises: step 1") == 1, err


def test_it_tells_that_another_thread_trains(folder):
    lines = "thread = threading.Thread(target=step); thread.start(); thread.join()"
    _, _, err = loop(folder, lines)
    assert "another thread called backward()" in err and "nothing called" not in err
    assert "nothing called backward() of a tensor" in loop(folder, "")[2]


def test_a_module_runs_as_without_and_its_traceback_is_its_own(folder):
    plain = plain_module(folder, "package.train", "2", "raise")
    code, out, err = watched(folder, "-m", "package.train", "2", "raise")
    assert (code, out) == (1, plain[1]) and plain[0] == 1
    raised = err[err.index("Traceback") : err.index("ValueError: the end")]
    assert raised.count("  File ") == 2 and raised.count("train.py") == 2
    assert "1 of 2 steps examined in full (1), 1 by sizes; no alarm" in err
