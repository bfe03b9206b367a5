"""Returned sheets, honest, broken and malicious, and what their rows of the table have to say.

All are sheets of notebook 04, cut down to its exercises.
"""

import csv
import functools
import io
import json
import socket
from pathlib import Path

import nbformat

from tools.classroom.sandbox import Limits
from tools.classroom.scoring import find_files, score_files, write_table
from tools.notebooks import is_solution, notebook_files, task_of

SETUP = """\
import torch
from torch.autograd import Function
from helpers.functions import round_ste
from lessons import check"""
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
class RepairedSquare(Function):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


repaired_square = RepairedSquare.apply
"""
RIGHT = [
    f'{LEAKY}\n\ncheck("04.1", leaky_clamp)',
    f'{WEIGHTED}\n\ncheck("04.2", weighted_round)',
    f'{SQUARE}\n\ncheck("04.3", repaired_square)',
]
SHORT_SETUP = "from lessons import check"
STUB = 'def leaky_clamp(x):\n    return ...  # your code here\n\n\ncheck("04.1", leaky_clamp)'
WRONG = STUB.replace("...  # your code here", "x.clamp(0, 1)")


@functools.cache
def tasks():
    """The Markdown cells that show the tasks of notebook 04."""
    (path,) = (path for path in notebook_files() if path.stem.startswith("04"))
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if task_of(cell)]


def sheet(first=RIGHT[0], second=RIGHT[1], third=RIGHT[2], setup=SETUP):
    """A sheet with these answers; None is a cell that the learner has removed."""
    cells = [nbformat.v4.new_code_cell(setup)]
    for task, answer in zip(tasks(), (first, second, third), strict=True):
        cells.append(nbformat.v4.new_markdown_cell(task))
        if answer is not None:
            cells.append(nbformat.v4.new_code_cell(answer))
    return nbformat.v4.new_notebook(cells=cells)


def copied():
    """Our first two solutions, word for word, in cells without a tag."""
    (path,) = (path for path in notebook_files() if path.stem.startswith("04"))
    cells = nbformat.read(path, as_version=4).cells
    return sheet(*[cell.source for cell in cells if is_solution(cell)][:2])


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
import lessons.exercises.pointwise as pointwise
pointwise.expect_close = lambda *args, **options: None"""
PATCHED_TORCH = """\
torch.isclose = lambda x, y, **options: torch.ones_like(x, dtype=torch.bool)"""
PATCHED_RUN = """\
from lessons.exercises import CHECKS
object.__setattr__(CHECKS["04.1"], "run", lambda answer: None)"""
OWN_CHECK = """\
def check(number, answer):
    print("✓", number, "is right")"""
BOMB = """\
import os
while True:
    os.fork()"""
MEMORY = "kept = torch.empty(400_000_000)"  # asked for, but not in use
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
ODD = b'[{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": 5}]}'
CRASH = "import ctypes\nctypes.string_at(0)"
DISK = """\
import os
for i in range(100):
    with open(f"file{i}", "wb") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)"""
THREE_NAMES = """\
import os
for i, place in enumerate([os.path.expanduser("~"), os.environ["TMPDIR"], "/dev/shm"]):
    with open(f"{place}/{i}", "wb") as file:
        for _ in range(40):
            file.write(b"x" * 1_000_000)"""
# Memory that belongs to no process and no folder, and new folders in memory.
HIDDEN = """\
import ctypes, mmap, os, platform, subprocess
libc, got = ctypes.CDLL(None, use_errno=True), []
calls = {
    "memfd_create": ((319, 279), b"x", 0),
    "memfd_secret": ((447, 447), 0),
    "shmget": ((29, 194), 0, 1_000_000, 0o1600),
    "msgget": ((68, 186), 0, 0o1600),
    "semget": ((64, 190), 0, 1000, 0o1600),
    "socket": ((41, 198), 2, 1, 0),
    "socketpair": ((53, 199), 1, 1, 0, (ctypes.c_int * 2)()),
    "io_uring_setup": ((425, 425), 8, ctypes.create_string_buffer(200)),
    "unshare": ((272, 97), 0x10000000),
}
for name, (numbers, *arguments) in calls.items():
    number = numbers[platform.machine() == "aarch64"]
    if libc.syscall(number, *arguments) != -1:
        got.append(name)
number = (56, 220)[platform.machine() == "aarch64"]
child = libc.syscall(number, 0x10000011, 0, 0, 0, 0)
if not child:
    os._exit(0)
if child != -1:
    got.append("clone")
try:
    got.append(mmap.mmap(-1, 4096))
except OSError:
    pass
try:
    got.append(mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096))
except OSError:
    pass
mount = "mount -t tmpfs -o size=5g t /proc && echo mounted"
got.append(subprocess.run(["unshare", "-Urm", "sh", "-c", mount], capture_output=True).stdout)
raise RuntimeError("got: " + (", ".join(map(str, filter(None, got))) or "nothing"))"""
NAMES = """\
import os, time
for i in range(100_000):
    os.close(os.open(f"{os.environ['TMPDIR']}/{i}", os.O_CREAT))
time.sleep(10)"""
# Two processes have each piece, so that no piece would be free without one of them.
SHARED = """\
import os, time
def fork():  # again, while a bomb of another sheet takes all processes of the user nobody
    try:
        return os.fork()
    except BlockingIOError:
        time.sleep(0.1)
        return fork()
for _ in range(3):
    piece = b"x" * 500_000_000
    for _ in range(2):
        if not fork():
            time.sleep(1000)
    del piece
time.sleep(1000)"""


def slow_to_read():
    """A sheet that takes hours if some pattern or check needs quadratic time."""
    spaces, many = " " * 1_000_000, 100_000
    texts = [
        f"# a{spaces}b",
        *(f"# a{' ' * 80_000}b",) * 20,
        f"#{spaces}",
        f"## {'# ' * many}b",
        "```\n" * many,
        "~~~\n```\n" * many,
    ]
    texts += ["#" * many, "## a\n" * many, "**Exercise 04.1 · " + "** · about " * many]
    starts = ["check(", 'check("', 'check("04.1",', "check(" * many]
    sources = [start + end for start in starts for end in (spaces, "0" * many, "\n" * many, "1.2")]
    odd = [{"output_type": "odd"}] * many
    code = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None}
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": each}
        for each in [*texts, tasks()[0]]
    ]
    cells += [{**code, "outputs": [], "source": each} for each in sources]
    cells.append({**code, "outputs": odd, "source": ["1\n"] * many})
    cells += [{**code, "outputs": [], "source": 'check("04.1", x)'}] * 1000
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def spy(place, port):
    """Try to write, read and connect outside the sandbox; the message says what succeeded."""
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
raise RuntimeError("done: " + (", ".join(done) or "nothing"))""")


def sheets(place, port):
    """learner -> (the sheet, the beginnings of its results for 04.1, 04.2 and 04.3)"""
    passed, not_tried = "passed", "not tried"
    wrong = "wrong: gradient at x = -1, grad_output 3: yours 0, expected 0.3."
    ended = "ended Python in cell"
    # A fork bomb does both; which of them is seen first is chance.
    bombed = "started more than 50 processes in cell 3", "used more than 1 GB in cell 3"
    exits = "import os\nos._exit(0)"
    return {
        "Ada": (sheet(), passed, passed, passed),
        "Ben": (sheet(WRONG, third="repaired_square ="), wrong, passed, "error in cell 7: Syntax"),
        "Cleo": (sheet(STUB, None, "y = 1 / 0"), not_tried, not_tried, "error in cell 6: ZeroDiv"),
        "Dan": (without_ids(sheet(LEAKY, None, "y =")), passed, not_tried, "error in cell 6: Syn"),
        "hang": (
            sheet(*(f'check("04.{i}", 1)' for i in (1, 2)), "while True: pass", SHORT_SETUP),
            *["wrong: needs the function itself, got int."] * 2,
            "stopped after 30 s in cell 7",
        ),
        # Several attempts in each: starting a process takes longer than what most of them do.
        "many": (
            sheet(
                spy(place, port).replace("done = []", f"{FORGED}\ndone = []", 1),
                WEIGHTED.replace("round_ste(x)", "x.round()"),
                PATCHED_RUN.replace("04.1", "04.3") + f"\n\n\n{RIGHT[2]}",
                f"{SETUP}\n\n\n{OWN_CHECK}",
            ),
            "error in cell 3: RuntimeError: done: nothing",
            "wrong: gradient with respect to x",
            "error in cell 7: ImportError",
        ),
        "brute": (
            sheet(instead_of(BOMB), MEMORY, exits),
            bombed,
            "used more than 1 GB in cell 5",
            f"{ended} 7",
        ),
        # What no count of the processes' own memory finds.
        "hidden": (
            sheet(instead_of(HIDDEN), THREE_NAMES, SHARED),
            "error in cell 3: RuntimeError: got: nothing",
            "error in cell 5: OSError: [Errno 28] No space left",
            "used more than 1 GB in cell 7",
        ),
        "ends": (sheet(instead_of(KILL), CRASH, CLOSED), *(f"{ended} {i}" for i in (3, 5, 7))),
        "fills": (
            sheet(instead_of(DISK), FLOOD, NAMES),
            "error in cell 3: OSError: [Errno 28] No space left",
            "wrote too much into its report in cell 5",
            "made more than 20,000 files in cell 7",
        ),
        "lasts": (
            sheet(instead_of(CHILDREN), f"{GIGABYTE}\n\n\n{RIGHT[1]}", f"{THREAD}\n\n\n{RIGHT[2]}"),
            "used more than 1 GB in cell 3",
            passed,
            passed,
        ),
        "patches": (
            sheet(instead_of(PATCHED_TORCH), PATCHED, "import sys; sys.exit()"),
            wrong,
            "error in cell 5: ModuleNotFound",
            "error in cell 7: SystemExit",
        ),
        "copied": (copied(), passed, passed, passed),
    }


def no_sheets():
    """learner -> (the bytes of the file, the beginning of its remark)"""
    foreign = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('hello')")])
    return {
        "empty": (b"", "is empty"),
        "cut": (nbformat.writes(sheet()).encode()[:500], "is not a notebook: JSONDecodeError"),
        "picture": (b"\x89PNG\r\n\x1a\n\xff", "is not a notebook: UnicodeDecodeError"),
        "list": (b"[1, 2, 3]", "is not a notebook"),
        "number": (b'{"nbformat": 4, "cells": 5}', "is not a notebook"),
        "deep": (b"[" * 1_000_000, "is not a notebook: RecursionError"),
        "source": (
            b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ' + ODD,
            "is not a",
        ),
        "large": (b" " * 20_000_001, "is too large for a sheet: 20 MB"),
        "cells": (
            json.dumps({"cells": [{"cell_type": "code", "source": ""}] * 20_000}).encode(),
            "has 20,000 cells",
        ),
        "foreign": (nbformat.writes(foreign).encode(), "contains no cell of our notebooks"),
    }


def write_folder(folder, port):
    """Write the learners' files, and a secret; learner -> the beginnings of the row's cells."""
    (folder / "secret.txt").write_text("the secret")
    expected = {}
    for learner, (notebook, *results) in sheets(folder, port).items():
        path = folder / f"04_override_backward-{learner}.ipynb"
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
        remark = "cell 3 is word for word" if learner == "copied" else ""
        expected[learner] = [*results, remark]
    for learner, (content, remark) in no_sheets().items():
        path = folder / f"04_override_backward-{learner}.ipynb"
        path.write_bytes(content)
        expected[learner] = ["no sheet"] * 3 + [f"{path.name} {remark}"]
    return expected


def score_folder(folder):
    """{learner: its row}, and those of them that are not as expected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        expected = write_folder(folder, server.getsockname()[1])
        files = find_files([str(folder)])
        patient = [path for path in files if "hang" not in path.stem]
        hanging = [path for path in files if "hang" in path.stem]
        scores = score_files(
            patient, Limits(seconds=600, memory=1_000_000_000), True, lambda *done: None
        )
        scores += score_files(hanging, Limits(seconds=30), True, lambda *done: None)
    table = io.StringIO()
    write_table(scores, table)
    rows = {learner: row for learner, *row in csv.reader(table.getvalue().splitlines())}
    assert rows.pop("learner") == ["04.1", "04.2", "04.3", "passed", "remarks"]
    odd = {}
    for learner, beginnings in expected.items():
        row = rows.get(learner, ["no row"] * 5)
        passed = str(row[:3].count("passed"))
        right = all(map(str.startswith, [*row[:3], row[4]], beginnings)) and row[3] == passed
        if not right:
            odd[learner] = row
    return rows, odd
