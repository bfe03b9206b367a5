"""Kernels forked from one process that has imported torch, so that no notebook waits for it."""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

IMPORTED = ["torch._dynamo", "torch._inductor.pattern_matcher", "matplotlib.pyplot"]
IMPORTED += ["ipykernel.kernelapp", "ipykernel.debugger", "ipywidgets", "anywidget"]
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # its warning is for whoever sets breakpoints
_ours = []  # the process that this one has started


class ForkedKernel:
    """A kernel, with as much of Popen's interface as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, command, cwd=None, env=None, **streams):
        self._connection = _connected()
        connection_file = command[command.index("-f") + 1]
        asked = json.dumps([connection_file, str(cwd), env]).encode()
        self._connection.sendall(len(asked).to_bytes(4, "big") + asked)
        self.pid = int.from_bytes(self._connection.recv(4), "big")

    def poll(self):
        """None while it runs: with it ends its side of the connection."""
        is_closed = self._connection.fileno() < 0
        return 0 if is_closed or select.select([self._connection], [], [], 0)[0] else None

    def wait(self, timeout=None):
        if not select.select([self._connection], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a kernel", timeout)
        self._connection.close()

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)


def wait_for_ready(client, timeout):
    """What jupyter_client has waits for 0.2 s in the end; nbval looks for the rest of it, too."""
    client.kernel_info(reply=True, timeout=timeout)


def _connected():
    """A connection to the process that forks. All workers share it: whoever is first starts it."""
    address = "\0kernels-" + os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    connection = socket.socket(socket.AF_UNIX)
    while connection.connect_ex(address):
        if not _ours or _ours[-1].poll() is not None:
            command = [sys.executable, __file__, address[1:]]
            _ours.append(subprocess.Popen(command, stdin=subprocess.PIPE))
            atexit.register(_ours[-1].communicate)  # its standard input ends, and so does it
        time.sleep(0.02)
    return connection


def serve(name):
    """Fork a kernel for each connection, until the standard input of this process ends."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0{name}")
    except OSError:  # another worker was quicker
        return
    listener.listen()
    del sys.path[0]  # the folder of this file, whose names are not for notebooks
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # what is imported stays, so nobody need look through it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while select.select([listener, sys.stdin], [], [])[0] == [listener]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            _run(connection)
            os._exit(0)
        connection.close()


def _run(connection):
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # an interrupt is for this process and its children
    size = int.from_bytes(connection.recv(4), "big")
    connection_file, folder, environment = json.loads(connection.recv(size, socket.MSG_WAITALL))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    kernel = IPKernelApp.instance()
    kernel.initialize(["-f", connection_file])
    connection.sendall(os.getpid().to_bytes(4, "big"))  # its sockets listen
    kernel.start()


if __name__ == "__main__":
    serve(sys.argv[1])
