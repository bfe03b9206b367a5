"""How long one slider move takes: our explorer beside ipywidgets.interact and ipympl.

    python benchmarks/explorer.py           needs Chromium, and what `make bench` installs

All of them draw the same curve with the same artists, 800 x 340 CSS pixels at twice the pixels.
Only the display differs. benchmarks/README.md says what is measured, and holds the last result.
"""
# ruff: noqa: E402  this folder is no package, and tests/browser is not on the path

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path

from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from contenders import BLIT, COMMON, CONTENDERS, INTERACT, OURS

TURNS, PRESSES = 2, 15  # contenders take turns: a busy moment should hit them all
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


# At each frame: has the picture that is now on the page changed? Half of its numbers of pixels.
WATCH = """() => {
  const panel = new OffscreenCanvas(400, 240).getContext('2d', {willReadFrequently: true});
  panel.imageSmoothingEnabled = false;
  const canvases = '.strokes canvas, .jupyter-matplotlib-canvas-div canvas';
  const images = '.jp-OutputArea-output img';
  let last = 0;
  window.pressed = window.dragged = window.changed = 0;
  addEventListener('keydown', event => { window.pressed = event.timeStamp; }, true);
  addEventListener('mousemove', event => { window.dragged = event.timeStamp; }, true);
  const look = () => {
    const picture = document.querySelector(canvases) ?? document.querySelector(images);
    const width = picture && (picture.naturalWidth ?? picture.width);
    if (width > 750 * devicePixelRatio) {  // ipympl is not sharp at first
      const scale = width / 800;
      panel.clearRect(0, 0, 400, 240);
      panel.drawImage(picture, 0, 40 * scale, 400 * scale, 240 * scale, 0, 0, 400, 240);
      const pixels = new Uint32Array(panel.getImageData(0, 0, 400, 240).data.buffer);
      let sum = 0;
      for (const pixel of pixels) sum = Math.imul(sum, 31) + pixel | 0;
      if (sum !== last) { last = sum; window.changed = performance.now(); }
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def still(page):
    """Wait until the picture has not changed for a while."""
    page.wait_for_function("window.changed > 0 && performance.now() - window.changed > 500")


def press(page, slider, key):
    """Milliseconds from a key press to the changed picture."""
    still(page)
    slider.press(key)
    page.wait_for_function("window.changed > window.pressed")
    return page.evaluate("window.changed - window.pressed")


def late_after_drag(opened, slider):
    """Milliseconds from the last of 100 mouse moves in a second until the last picture shows."""
    slider.press("Home")
    still(opened.page)
    seconds = opened.drag(slider, distance=400)
    still(opened.page)
    if not opened.explorers()[0].agrees():
        raise RuntimeError("the last picture does not belong to the last value")
    return opened.page.evaluate("Math.max(0, window.changed - window.dragged)"), seconds


def presses_and_drags(opened, presses, drags):
    """What press and late_after_drag return, so many times, for an open contender."""
    opened.run()
    opened.page.evaluate(WATCH)
    slider = opened.page.get_by_role("slider").first
    times = [press(opened.page, slider, "ArrowRight") for _ in range(presses)]
    late = [late_after_drag(opened, slider) for _ in range(drags)]
    check(opened)
    return times, late


def check(opened):
    if complaints := opened.complaints():
        raise RuntimeError(complaints)


@contextmanager
def opener():
    """Opens a notebook of a contender in a page and a kernel of its own."""
    from browser.lab import CHROMIUM_FLAGS, running_lab
    from browser.notebook_page import NotebookPage
    from playwright.sync_api import sync_playwright

    from tools.chromium import find_chromium

    chromium = find_chromium()
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        running_lab(Path(folder)) as lab,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)

        @contextmanager
        def opened(name):
            lab.write("contender.ipynb", cell(name, browser=True))
            page = browser.new_page(viewport={"width": 1300, "height": 900}, device_scale_factor=2)
            yield NotebookPage(page, lab, "contender.ipynb")
            page.close()
            lab.end_kernels()

        yield opened
        browser.close()


def browser_side():
    """Milliseconds from key press to pixels of each, and after a drag on ours."""
    presses, drags = {name: [] for name in CONTENDERS}, []
    with opener() as opened:
        for _ in range(TURNS):
            for name in CONTENDERS:
                with opened(name) as notebook:
                    times, late = presses_and_drags(notebook, PRESSES + 3, 3 * (name == OURS))
                presses[name] += times[3:]  # the first few warm up
                drags += late
    return presses, drags


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


def show_browser_side(presses, drags):
    table(f"browser: key press to pixels (n = {len(presses[OURS])})", "ms", presses)
    print("\nAfter a drag of 100 events, ms until the last value shows, and the drag's seconds:")
    print(", ".join(f"{late:.0f} ({seconds:.2f} s)" for late, seconds in drags) + "\n")

    for other, most in [(INTERACT, 0.18), (BLIT, 0.5)]:
        for what, summary in [("median", statistics.median), ("p95", p95)]:
            share = summary(presses[OURS]) / summary(presses[other])
            text = f"key press to pixels, {what}: at most {most:g} × {other}"
            target(text, share <= most, f"{share:.2f}")
    worst = max(late for late, _ in drags)
    target("last value within 100 ms after a drag", worst <= 100, f"worst {worst:.0f} ms")


def main():
    packages = ("torch", "matplotlib", "ipywidgets", "anywidget", "jupyterlab", "ipympl")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{date.today()}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    show_kernel_side(kernel_side(TURNS, len(STEPS)), through_all_of_swish(BETAS))
    show_browser_side(*browser_side())


if __name__ == "__main__":
    main()
