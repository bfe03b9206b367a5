"""How long one slider move takes: our explorer beside ipywidgets.interact and ipympl.

    python benchmarks/explorer.py           needs what `make bench` installs

All of them draw the same curve with the same artists, 800 x 340 CSS pixels at twice the pixels.
Only the display differs. This measures in the kernel; benchmarks/slider_in_a_page.py measures in
a browser. benchmarks/README.md says what is measured, and holds the last result.
"""

import json
import os
import platform
import random
import statistics
import subprocess
import sys
from collections import defaultdict
from datetime import date
from importlib.metadata import version
from pathlib import Path

from contenders import COMMON, CONTENDERS, INTERACT, OURS
from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).resolve().parents[1]

TURNS = 2  # contenders take turns: a busy moment should hit them all
STEPS = [round(0.1 + 0.01 * i, 2) for i in range(191)]  # all values of the slider
BETAS = [round(0.2 + 0.01 * i, 2) for i in range(381)]
# Its minimum lies between two of the settings that the axes were made for.
SWISH = """
def swish(x, beta=1.0):
    return x * torch.sigmoid(beta * x)

def curve(step):
    gradient_curve(swish, (-6, 6), beta=step)

explorer = explore(swish, x=(-6, 6), beta=(0.2, 4.0, 0.01))
slider = explorer.sliders["beta"]
display(explorer)
"""

MOVE = """
moves, curves = [], []
for step in {steps}:
    start = time.perf_counter()
    slider.value = step
    moved = time.perf_counter()
    curve(step)
    moves.append(1000 * (moved - start))
    curves.append(1000 * (time.perf_counter() - moved))
"""
# The content and the buffers of all messages that a move sends, without what Jupyter adds to each.
COUNT = """
session, sent = get_ipython().kernel.session, []
send = session.send
def count(stream, message, content=None, *others, buffers=None, **named):
    whole = isinstance(message, dict)
    packed = session.pack(message["content"] if whole else content)
    parts = buffers or (whole and message.get("buffers")) or []
    sent[-1] += len(packed) + sum(memoryview(part).nbytes for part in parts)
    return send(stream, message, content, *others, buffers=buffers, **named)
session.send = count
for step in {steps}:
    sent.append(0)
    slider.value = step
session.send = send
"""


class Kernel:
    """A kernel in which code can be run."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.manager, self.client = start_new_kernel(stderr=subprocess.DEVNULL, env=environment)
        self._texts = []

    def run(self, code):
        """Run code. Raises what it raises."""
        self.client.execute_interactive(code, output_hook=self._hear, timeout=600)

    def get(self, name):
        """The value of a name, a list of numbers."""
        self._texts = []
        self.run(f"print({name})")
        return json.loads("".join(self._texts))

    def _hear(self, message):
        if message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            self._texts.append(message["content"]["text"])

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def cell(name, browser):
    return f"{COMMON}BROWSER = {browser}\n{CONTENDERS[name]}"


def kernel_side(turns, moves):
    """For each contender, what takes how many milliseconds or bytes in its kernel.

    move   one move of its slider
    curve  computing the curve that this move shows
    bytes  what a move sends
    """
    kernels = {name: Kernel() for name in CONTENDERS}
    found = {name: defaultdict(list) for name in CONTENDERS}
    try:
        for name, kernel in kernels.items():
            kernel.run(cell(name, browser=False))
        for turn in range(turns + 1):
            for name, kernel in kernels.items():
                steps = random.Random(turn).sample(STEPS, moves)
                for what, values in measure(kernel, steps).items():
                    found[name][what] += values if turn else []  # the first turn warms up
    finally:
        for kernel in kernels.values():
            kernel.end()
    return found


def through_all_of_swish(values):
    """Milliseconds of a move to each of these values of beta, in an order by chance."""
    kernel = Kernel()
    try:
        kernel.run(COMMON + SWISH)
        kernel.run(MOVE.format(steps=random.Random(0).sample(values, len(values))))
        return kernel.get("moves")
    finally:
        kernel.end()


def measure(kernel, steps):
    """One turn of a contender in its kernel."""
    kernel.run(MOVE.format(steps=steps))
    kernel.run(COUNT.format(steps=steps))
    return {
        "move": kernel.get("moves"),
        "curve": kernel.get("curves"),
        "bytes": kernel.get("sent"),
    }


def p95(times):
    return statistics.quantiles(times, n=20)[-1]


def table(title, unit, found):
    ours = statistics.median(found[OURS])
    high, highest = ("p95", p95) if len(found[OURS]) >= 20 else ("largest", max)
    print(f"\n| {title} | median {unit} | {high} {unit} | median, ours = 1 |\n|---|---|---|---|")
    for name, values in found.items():
        middle = statistics.median(values)
        print(f"| {name} | {middle:,.1f} | {highest(values):,.1f} | {middle / ours:.2f} |")


def target(text, reached, seen):
    print(f"- {'reached' if reached else 'NOT REACHED'}: {text} ({seen})")


def show_kernel_side(found, swish):
    moves, sent = ({name: what[key] for name, what in found.items()} for key in ("move", "bytes"))
    table(f"kernel: one slider move (n = {len(moves[OURS])})", "ms", moves)
    curve = statistics.median(found[OURS]["curve"])
    share = curve / statistics.median(moves[OURS])
    print(f"\nComputing the curve: {curve:.1f} ms, {share:.0%} of ours.")
    table(f"kernel: sent by one slider move (n = {len(sent[OURS])})", "bytes", sent)

    gain = statistics.median(moves[INTERACT]) / statistics.median(moves[OURS])
    print()
    target("kernel median at least 30 times faster than interact", gain >= 30, f"{gain:.1f}")
    for name, times in (("round_to", moves[OURS]), ("swish", swish)):
        high, most = p95(times), max(times)
        seen = f"{high:.1f} ms, {most:.1f} ms, n = {len(times)}"
        target(f"{name}: p95 at most 10 ms, largest 30 ms", high <= 10 and most <= 30, seen)
    most = max(sent[OURS])
    target("no move sends more than 5 kB", most <= 5000, f"at most {most:,} bytes")


def print_versions():
    packages = ("torch", "matplotlib", "ipywidgets", "anywidget", "jupyterlab", "ipympl")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{date.today()}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")


def main():
    print_versions()
    show_kernel_side(kernel_side(TURNS, len(STEPS)), through_all_of_swish(BETAS))


if __name__ == "__main__":
    main()
