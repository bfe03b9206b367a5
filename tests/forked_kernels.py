"""Kernels forked from a process that has imported torch, so that no notebook waits for it."""

import gc
import multiprocessing
import os

IMPORTED = ["torch._dynamo", "torch._inductor.pattern_matcher", "matplotlib.pyplot"]
IMPORTED += ["ipykernel.kernelapp", "ipykernel.debugger", "ipywidgets", "anywidget"]
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # its warning is for whoever sets breakpoints


class ForkedKernel:
    """A kernel, with as much of Popen's interface as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, command, cwd=None, env=None, **streams):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        ours, theirs = context.Pipe(duplex=False)
        connection_file = command[command.index("-f") + 1]
        self._process = context.Process(target=_run, args=(connection_file, str(cwd), env, theirs))
        self._process.start()
        ours.recv()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self._process.kill()

    def terminate(self):
        self._process.terminate()


def wait_for_ready(client, timeout):
    """What jupyter_client has waits for 0.2 s in the end; nbval looks for the rest of it, too."""
    client.kernel_info(reply=True, timeout=timeout)


def _run(connection_file, folder, environment, is_ready):
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # an interrupt is for this process and its children
    gc.freeze()  # what is imported stays, so nobody need look through it
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    kernel = IPKernelApp.instance()
    kernel.initialize(["-f", connection_file])
    is_ready.send(True)  # its sockets listen: who connects later would try again after 0.1 s
    kernel.start()
