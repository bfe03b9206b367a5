"""Kernels forked from one process that has imported torch, so that no notebook waits for it."""

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
# "\0" means that it is no file. All workers of a run share the server that the first one starts.
ADDRESS = "\0kernels-" + os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
_started = []


class ForkedKernel:
    """A kernel, with as much of Popen's interface as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, command, cwd=None, env=None, **streams):
        asked = [command[command.index("-f") + 1], str(cwd), env]
        with _connection() as connection, connection.makefile("rw") as stream:
            print(json.dumps(asked), file=stream, flush=True)
            self.pid = int(stream.readline())

    def poll(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0

    def wait(self):
        while self.poll() is None:
            time.sleep(0.01)

    def send_signal(self, number):
        os.kill(self.pid, number)


def wait_for_ready(client, timeout):
    """What jupyter_client has waits for 0.2 s in the end; nbval looks for the rest of it, too."""
    client.kernel_info(reply=True, timeout=timeout)


def _connection():
    """To the server, which is started where none answers. It ends with who has started it."""
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(ADDRESS)
            return connection
        except ConnectionRefusedError:
            connection.close()
        if all(server.poll() is not None for server in _started):
            until_we_end, _ = os.pipe()
            command = [sys.executable, __file__, ADDRESS[1:]]
            _started.append(subprocess.Popen(command, stdin=until_we_end))
            os.close(until_we_end)
        time.sleep(0.1)


def _serve(name):
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind("\0" + name)
    except OSError:  # another worker was quicker
        return
    listening.listen()
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # what is imported stays, so nobody need look through it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing is left of a kernel that has ended
    while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        with connection, connection.makefile("rw") as stream:
            asked = json.loads(stream.readline())
            if os.fork() == 0:
                listening.close()
                kernel = _kernel(*asked)
                print(os.getpid(), file=stream, flush=True)
                break
    else:
        return
    kernel.start()


def _kernel(connection_file, folder, environment):
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # an interrupt is for this process and its children
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = ""  # not the folder of this file
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    kernel = IPKernelApp.instance()
    kernel.initialize(["-f", connection_file])
    return kernel


if __name__ == "__main__":
    _serve(sys.argv[1])
