"""A process for untrusted code: isolated, and stopped if it uses too much.

bubblewrap (Linux) isolates the process: it has no network, and sees only Python, its packages and
this project's, all read-only, and an empty folder. Without bubblewrap, only the limits hold.
A second process may hide what the first one knows from the code that it runs.
"""

import contextlib
import functools
import os
import platform
import selectors
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tools.classroom.system_calls import MACHINES, system_call_filter
from tools.notebooks import ROOT

SECONDS_TO_START = 120  # importing torch takes 2 s, and on a busy machine much longer
SECONDS_BETWEEN_LOOKS = 0.2
LONGEST_REPORT = 1_000_000  # bytes
MOST_NAMES = 20_000  # of files and folders; the size of a folder does not count what keeps them
ROOM = "/dev/shm"  # where a sheet can write
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives")
# Without /dev/zero: what several processes map of it is counted nowhere.
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
PROCESSOR = "/sys/devices/system/cpu"  # where torch looks up the processor's instructions
OWN_FOLDERS = ("autograd_surprises", "helpers", "lessons", "tools")
# Linux does not limit the number of root's processes, so for root, sheets run as user nobody.
AS_ROOT = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
AS_ROOT += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
BECOME_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]


interrupted = threading.Event()  # once set, every `run` raises Interrupted


class SandboxError(Exception):
    """The sandbox does not work here; the message says why."""


class Interrupted(Exception):
    """The run was ended from outside."""


@dataclass(frozen=True)
class Limits:
    """What one sheet may use. `memory` and `disk` are bytes."""

    seconds: int = 60
    memory: int = 2_000_000_000
    disk: int = 100_000_000
    processes: int = 50

    @property
    def too_much_memory(self) -> str:
        return f"used more than {self.memory / 1e9:g} GB"

    @property
    def too_many_processes(self) -> str:
        return f"started more than {self.processes} processes"


@dataclass(frozen=True)
class Ending:
    """Why a process was stopped, or "" if it ended by itself; and the lines that it reported."""

    why: str
    lines: list[str]


@functools.cache
def why_unprotected() -> str:
    """Why bubblewrap cannot be used here; "" if it can."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    if platform.machine() not in MACHINES:
        return f"the sandbox does not know the processor {platform.machine()}"
    with tempfile.TemporaryDirectory() as folder, _file(system_call_filter()) as calls:
        walls = _walls(folder, 1_000_000, calls.fileno(), Program("", b""))
        tried = subprocess.run(
            [*walls, "true"], pass_fds=[calls.fileno()], capture_output=True, text=True
        )
    return tried.stderr.strip()


@dataclass(frozen=True)
class Program:
    """A module of this project, its input, and what it may not read of the project, or read, too.

    hidden, shown  folders of this project
    """

    module: str
    task: bytes
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def run(
    program: Program, limits: Limits, protected: bool, partner: Program | None = None
) -> Ending:
    """Run a program until it ends or uses too much; and beside it a partner, which ends with it.

    The first argument of the program is the number of a descriptor, to which it reports line by
    line. The first line starts the clock. The last two arguments of both are the descriptors of a
    pipe from the other one and a pipe to it. Raises SandboxError if no line comes, and Interrupted.
    """
    if os.name != "posix":
        raise SandboxError("scoring needs Linux or macOS")
    with contextlib.ExitStack() as stack:
        ours, report = os.pipe()
        stack.callback(os.close, ours)
        there, back = (os.pipe(), os.pipe()) if partner else ((), ())
        processes, theirs = [], {report, *there, *back}
        try:
            ends = [report, *back[:1], *there[1:]]
            processes.append(_start(stack, program, ends, limits, protected))
            if partner:
                processes.append(_start(stack, partner, [there[0], back[1]], limits, protected))
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return _watch(processes, ours, limits)


def _start(stack, program, ends, limits, protected):
    """The process of a program, which is killed when the stack is closed."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    given = stack.enter_context(_file(program.task))
    walls, passed = [], ends
    if protected:
        calls = stack.enter_context(_file(system_call_filter())).fileno()
        walls, passed = _walls(folder, limits.disk, calls, program), [*ends, calls]
    process = subprocess.Popen(
        [*walls, sys.executable, "-B", "-m", program.module, *map(str, ends)],
        stdin=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=passed,
        env=_environment(folder),
        cwd=folder,
        start_new_session=True,
    )
    stack.callback(process.stderr.close)
    stack.callback(_kill, process)
    return process


@contextlib.contextmanager
def _file(content):
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file


def _walls(folder, disk, calls, program):
    """The start of a command that runs inside bubblewrap, with an empty `folder` to write to.

    calls  the descriptor of a file with the filter of system calls
    """
    seen = [*SYSTEM, PROCESSOR, sys.base_prefix, sys.prefix, site.getusersitepackages()]
    seen += [str(ROOT / name) for name in (*OWN_FOLDERS, *program.shown)]
    hidden = [str(ROOT / name) for name in program.hidden]
    parents = {parent for place in [*seen, folder] for parent in Path(place).parents}
    folders = [word for parent in sorted(parents)[1:] for word in ("--dir", str(parent))]
    is_root = os.geteuid() == 0
    room = ("--perms", "1777", "--size", str(disk), "--tmpfs", ROOM)
    return [
        *("bwrap", "--die-with-parent", "--cap-drop", "ALL", "--seccomp", str(calls)),
        *(AS_ROOT if is_root else ["--unshare-all"]),
        *("--proc", "/proc", "--dir", "/dev", *room),
        *folders,
        *(word for place in DEVICES for word in ("--dev-bind", place, place)),
        *(word for place in seen for word in ("--ro-bind-try", place, place)),
        *(word for place in hidden for word in ("--tmpfs", place, "--remount-ro", place)),
        # One place to write to: two would each have the whole size.
        *("--symlink", ROOM, folder, "--remount-ro", "/", "--chdir", folder),
        *(BECOME_NOBODY if is_root else []),
    ]


def _environment(folder):
    """A few variables instead of the teacher's environment, which may hold passwords."""
    return {
        "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",  # or two sheets at a time would slow each other down
        "USER": "learner",
        **dict.fromkeys(("HOME", "TMPDIR"), folder),
    }


def _watch(processes, descriptor, limits):
    """Read the report, and meanwhile check the time, the memory and the number of processes."""
    report, why = bytearray(), ""
    now = time.monotonic()
    last_moment, next_look = now + SECONDS_TO_START, now
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not why:
            if interrupted.is_set():
                raise Interrupted
            ended = processes[0].poll() is not None
            piece = b""
            if selector.select(0 if ended else SECONDS_BETWEEN_LOOKS):
                piece = os.read(descriptor, 65536)
                if not piece:  # closed
                    selector.unregister(descriptor)
            if ended and not piece:
                break
            now = time.monotonic()
            if piece and not report:
                last_moment = now + limits.seconds
            report += piece
            if len(report) > LONGEST_REPORT:
                why = "wrote too much into its report"
            elif now > last_moment:
                why = f"stopped after {limits.seconds} s"
            elif now > next_look:
                next_look = now + SECONDS_BETWEEN_LOOKS
                why = _too_much(processes, limits)
    if not report:
        raise SandboxError(
            f"the process for a sheet did not start: {why or _complaints(processes)}"
        )
    return Ending(why, report.decode(errors="replace").splitlines())


def _complaints(processes):
    for process in processes:
        _kill(process)
    texts = [process.stderr.read().decode(errors="replace").strip() for process in processes]
    return "\n".join(filter(None, texts))


def _too_much(processes, limits):
    members = _members(processes)
    memory = sum(map(_memory, members))
    # Counted again: a fork bomb grows while its memory is read, and its parts add up to more.
    if max(len(members), len(_members(processes))) > limits.processes:
        return limits.too_many_processes
    if _names(members) > MOST_NAMES:
        return f"made more than {MOST_NAMES:,} files"
    return limits.too_much_memory if memory > limits.memory else ""


def _names(members):
    """How many files and folders there are in the rooms of these processes."""
    found = {}
    for member in members:
        with contextlib.suppress(OSError):
            room = f"/proc/{member.pid}/root{ROOM}"
            device = os.stat(room).st_dev
            if device != os.stat(ROOM).st_dev:
                about = os.statvfs(room)
                found[device] = about.f_files - about.f_ffree
    return sum(found.values())


def _members(processes):
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            first = psutil.Process(process.pid)
            found += [first, *first.children(recursive=True)]
    return found


def _memory(member):
    """Its bytes, with its share of those that several processes have mapped.

    All of its bytes if it hides: a process may keep others of the same user from looking closely.
    """
    try:
        try:
            info = member.memory_full_info()
            return info.pss + info.swap if sys.platform == "linux" else info.uss
        except psutil.AccessDenied:
            return member.memory_info().rss
    except psutil.Error:
        return 0


def _kill(process):
    """Kill the process and all that it started. Everything inside bubblewrap ends with it."""
    for member in _members([process]):
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
