"""A folder of sheets that came back, honest, broken and malicious, and what their rows have to say.

    python tests/returned_sheets.py      scores them all, and prints what is not as expected

All are sheets of notebook 04, cut down to its exercises. ANSWERS are cells of the sheet; FILES are
files that are no sheets.
"""

from pathlib import Path

import nbformat

SETUP = """\
import torch
from torch.autograd import Function
from helpers.functions import round_ste
from helpers.lessons import check, exercise"""
LEAKY = """\
def leaky_clamp(x):
    inside = (x >= 0) & (x <= 1)
    y = torch.where(inside, x, 0.1 * x)
    return y + (x.clamp(0, 1) - y).detach()
"""
WEIGHTED = """\
def weighted_round(x, weight):
    return round_ste(x) * weight
"""
SQUARE = """\
def repaired_square(x):
    return x * x
"""
RIGHT = [
    f'{LEAKY}\n\ncheck("04.1", leaky_clamp)',
    f'{WEIGHTED}\n\ncheck("04.2", weighted_round)',
    f'{SQUARE}\n\ncheck("04.3", repaired_square)',
]
STUB = 'def leaky_clamp(x):\n    return ...  # your code here\n\n\ncheck("04.1", leaky_clamp)'
WRONG = STUB.replace("...  # your code here", "x.clamp(0, 1)")


def sheet(first=RIGHT[0], second=RIGHT[1], third=RIGHT[2], setup=SETUP):
    """A sheet with these answers; None is a cell that the learner has removed."""
    cells = [nbformat.v4.new_code_cell(setup)]
    for i, answer in enumerate((first, second, third), 1):
        cells.append(nbformat.v4.new_code_cell(f'exercise("04.{i}")'))
        if answer is not None:
            cells.append(nbformat.v4.new_code_cell(answer))
    return nbformat.v4.new_notebook(cells=cells)


def without_ids(notebook):
    """As Colab stores it."""
    for cell in notebook.cells:
        del cell["id"]
    notebook.nbformat_minor = 0
    return notebook


def instead_of(body):
    """An answer to the first exercise that does something else first, at the top of its cell."""
    return f"{body}\n\n\n{WRONG}"


FORGED = """\
import json, os
for line in ('✓ 04.1', '["", "verdict", "04.1", "✓", "forged"]', '["verdict", "04.1", "✓", ""]'):
    print(line, flush=True)
    for descriptor in range(3, 50):
        try:
            os.write(descriptor, (line + "\\n").encode())
        except OSError:
            pass"""
PATCHED = """\
import helpers.lessons.exercises.pointwise as pointwise
pointwise.expect_close = lambda *args, **options: None"""
PATCHED_TORCH = """\
torch.isclose = lambda x, y, **options: torch.ones_like(x, dtype=torch.bool)"""
PATCHED_CARD = """\
from helpers.lessons.exercises import EXERCISES
object.__setattr__(EXERCISES["04.1"], "check", lambda answer: None)"""
OWN_CHECK = """\
def check(number, answer):
    print("✓", number, "is right")"""
BOMB = """\
import os
while True:
    os.fork()"""
MEMORY = """\
kept = []
while True:
    kept.append(torch.ones(10_000_000))"""
CHILDREN = """\
import os, time
for _ in range(4):
    if not os.fork():
        kept = torch.ones(200_000_000)
        time.sleep(1000)
time.sleep(1000)"""
GIGABYTE = """\
for _ in range(1000):
    print("x" * 1_000_000)"""
KILL = """\
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for process in (os.getppid(), 1, -1):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass
os.kill(os.getpid(), signal.SIGKILL)"""
FLOOD = """\
import os
while True:
    for descriptor in range(3, 50):
        try:
            os.write(descriptor, b"x" * 10_000 + b"\\n")
        except OSError:
            pass"""
CLOSED = "import os\nos.closerange(0, 256)"
THREAD = """\
import threading, time
threading.Thread(target=lambda: time.sleep(1000)).start()"""
CRASH = "import ctypes\nctypes.string_at(0)"
DISK = """\
import os
for i in range(100):
    with open(f"file{i}", "wb") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)"""


def spy(place, port):
    """Write, read and connect where a sheet has no business; what succeeds is in its message."""
    return instead_of(f"""\
import os, socket
from pathlib import Path
done = []
for name in ({str(place)!r}, "/tmp", os.path.expanduser("~root"), {str(Path.home())!r}, "/var/tmp"):
    try:
        (Path(name) / "planted.txt").write_text("planted")
        done.append("wrote " + name)
    except OSError:
        pass
try:
    done.append(Path({str(place)!r}, "secret.txt").read_text())
except OSError:
    pass
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        with socket.socket(socket.AF_INET, kind) as caller:
            caller.connect(("127.0.0.1", {port}) if kind == socket.SOCK_STREAM else ("1.1.1.1", 53))
            done.append("connected")
    except OSError:
        pass
done += [key for key in os.environ if "SECRET" in key]
raise RuntimeError("done: " + ", ".join(done))""")


def answers(place, port):
    """learner -> (the sheet, what stands under 04.1, 04.2 and 04.3: the beginnings of the cells)"""
    passed, stub, stopped = "passed", "not tried", "stopped after 3 s in cell 3"
    wrong = "wrong: gradient at x = -1, grad_output 3: yours 0, expected 0.3."
    error = "error in cell 3: "
    return {
        "Ada": (sheet(), passed, passed, passed),
        "Ben": (sheet(WRONG), wrong, passed, passed),
        "Cleo": (sheet(STUB, None, None), stub, stub, stub),
        "Dan": (
            sheet(LEAKY, None, "y = 1 / 0"),
            passed,
            stub,
            "error in cell 6: ZeroDivisionError",
        ),
        "Eve": (sheet(third="repaired_square ="), passed, passed, "error in cell 7: SyntaxError"),
        "Finn": (without_ids(sheet(WRONG)), wrong, passed, passed),
        "Gus-exit": (
            sheet(instead_of("import sys; sys.exit()")),
            error + "SystemExit",
            *[passed] * 2,
        ),
        "hang": (sheet(instead_of("while True: pass")), stopped, passed, passed),
        "gigabyte": (sheet(f"{GIGABYTE}\n\n\n{RIGHT[0]}"), passed, passed, passed),
        "memory": (sheet(instead_of(MEMORY)), error + "used too much memory", passed, passed),
        "children": (sheet(instead_of(CHILDREN)), "used more than 1 GB", passed, passed),
        "exit": (
            sheet(instead_of("import os\nos._exit(0)")),
            "ended Python in cell 3",
            *[passed] * 2,
        ),
        "exits": (sheet(*["import os\nos._exit(0)"] * 3), *["ended Python in cell"] * 3),
        "bomb": (sheet(instead_of(BOMB)), "started more than 50 processes", passed, passed),
        "kill": (sheet(instead_of(KILL)), "ended Python in cell 3", passed, passed),
        "spy": (sheet(spy(place, port)), error + "RuntimeError: done:$", passed, passed),
        "disk": (sheet(instead_of(DISK)), error + "OSError", passed, passed),
        "flood": (sheet(instead_of(FLOOD)), "wrote too much into its report", passed, passed),
        "closed": (sheet(instead_of(CLOSED)), "", "", ""),
        "thread": (sheet(f"{THREAD}\n\n\n{RIGHT[0]}"), passed, passed, passed),
        "crash": (sheet(instead_of(CRASH)), "ended Python in cell 3", passed, passed),
        "own-check": (sheet(WRONG, setup=f"{SETUP}\n{OWN_CHECK}"), wrong, passed, passed),
        "forged": (sheet(instead_of(FORGED)), wrong, passed, passed),
        "patched": (sheet(instead_of(PATCHED)), "not counted", "", ""),
        "patched-torch": (sheet(instead_of(PATCHED_TORCH)), "not counted", "", ""),
        "patched-card": (sheet(instead_of(PATCHED_CARD)), "not counted", passed, passed),
    }
