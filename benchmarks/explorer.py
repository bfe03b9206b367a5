"""How long one slider move takes: our explorer beside ipywidgets.interact and ipympl.

    python benchmarks/explorer.py           needs Chromium, and: pip install -e '.[test,bench]'

All of them draw the same curve with the same artists, 800 x 340 CSS pixels at twice the pixels.
Only the display differs. benchmarks/README.md says what is measured, and holds the last result.
"""

import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

from jupyter_client.manager import start_new_kernel
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]
os.environ["PYTHONPATH"] = str(ROOT)  # for the kernels

from contenders import BLIT, COMMON, CONTENDERS, INTERACT, OURS  # noqa: E402
from lab import CHROMIUM_FLAGS, NotebookPage, running_lab  # noqa: E402

TURNS, MOVES, PRESSES = 4, 40, 15  # contenders take turns: a busy moment should hit them all

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


def run_in(kernel, code):
    said = []

    def hear(message):
        if message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])

    kernel.execute_interactive(code, output_hook=hear, timeout=600)
    return "".join(said)


def kernel_side():
    """Milliseconds of each slider move inside a kernel, and of computing its curve."""
    kernels = {name: start_new_kernel(stderr=subprocess.DEVNULL) for name in CONTENDERS}
    moves, curves = {name: [] for name in CONTENDERS}, []
    try:
        for name, code in CONTENDERS.items():
            run_in(kernels[name][1], COMMON + "BROWSER = False\n" + code)
        for turn in range(TURNS + 1):
            steps = [round(0.1 + 0.01 * i, 2) for i in range(191)]
            steps = random.Random(turn).sample(steps, MOVES)
            for name, (_, kernel) in kernels.items():
                run_in(kernel, MOVE.format(steps=steps))
                if turn:  # the first turn warms up
                    moves[name] += json.loads(run_in(kernel, "print(moves)"))
                    curves += json.loads(run_in(kernel, "print(curves)")) if name == OURS else []
    finally:
        for manager, kernel in kernels.values():
            kernel.stop_channels()
            manager.shutdown_kernel(now=True)
    return moves, curves


# At each frame: has the picture that is now on the page changed? Every second pixel of the value.
WATCH = """() => {
  const panel = new OffscreenCanvas(400, 240).getContext('2d', {willReadFrequently: true});
  panel.imageSmoothingEnabled = false;
  let last = 0;
  window.pressed = window.dragged = window.changed = 0;
  addEventListener('keydown', event => { window.pressed = event.timeStamp; }, true);
  addEventListener('mousemove', event => { window.dragged = event.timeStamp; }, true);
  const look = () => {
    const picture = document.querySelector(
      'img.widget-image, .jp-OutputArea-output img, .jupyter-matplotlib-canvas-div canvas');
    if (picture && (picture.naturalWidth ?? picture.width) > 1500) {
      panel.drawImage(picture, 0, 80, 800, 480, 0, 0, 400, 240);
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


def browser_side(folder):
    """Milliseconds from key press to pixels for all, and after a drag on ours."""
    presses, drags = {name: [] for name in CONTENDERS}, []
    with sync_playwright() as playwright, running_lab(folder) as lab:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        for _ in range(TURNS):
            for name, code in CONTENDERS.items():
                lab.write("contender.ipynb", COMMON + "BROWSER = True\n" + code)
                page = browser.new_page(
                    viewport={"width": 1300, "height": 900}, device_scale_factor=2
                )
                opened = NotebookPage(page, lab, "contender.ipynb")
                opened.run()
                page.evaluate(WATCH)
                slider = page.get_by_role("slider").first
                times = [press(page, slider, "ArrowRight") for _ in range(PRESSES + 3)]
                presses[name] += times[3:]  # the first few warm up
                drags += [late_after_drag(opened, slider) for _ in range(3)] if name == OURS else []
                if complaints := opened.complaints():
                    raise RuntimeError(f"{name}: {complaints}")
                page.close()
                lab.end_kernels()
        browser.close()
    return presses, drags


def p95(times):
    return statistics.quantiles(times, n=20)[-1]


def table(title, times):
    ours = statistics.median(times[OURS])
    print(f"\n| {title} | median ms | p95 ms | median, ours = 1 |\n|---|---|---|---|")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"| {name} | {middle:.1f} | {p95(taken):.1f} | {middle / ours:.2f} |")


def target(text, reached, seen):
    print(f"- {'reached' if reached else 'NOT REACHED'}: {text} ({seen})")


def main():
    packages = ("torch", "matplotlib", "ipywidgets", "jupyterlab", "ipympl")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{date.today()}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    moves, curves = kernel_side()
    table(f"kernel: one slider move (n = {len(moves[OURS])})", moves)
    share = statistics.median(curves) / statistics.median(moves[OURS])
    print(f"\nComputing the curve: {statistics.median(curves):.1f} ms, {share:.0%} of ours.")
    with tempfile.TemporaryDirectory() as folder:
        presses, drags = browser_side(Path(folder))
    table(f"browser: key press to pixels (n = {len(presses[OURS])})", presses)
    late = [after for after, _ in drags]
    print("\nAfter a drag of 100 events, ms until the last value shows, and the drag's seconds:")
    print(", ".join(f"{after:.0f} ({seconds:.2f} s)" for after, seconds in drags) + "\n")

    middle = {name: statistics.median(taken) for name, taken in moves.items()}
    gain = middle[INTERACT] / middle[OURS]
    target("kernel median at least 12 times faster than interact", gain >= 12, f"{gain:.1f}")
    target("kernel p95 under 20 ms", p95(moves[OURS]) < 20, f"{p95(moves[OURS]):.1f} ms")
    middle = {name: statistics.median(taken) for name, taken in presses.items()}
    gain = middle[INTERACT] / middle[OURS]
    target("key press to pixels at least 3 times faster than interact", gain >= 3, f"{gain:.1f}")
    gain = middle[BLIT] / middle[OURS]
    target("key press to pixels no slower than ipympl blitting", gain >= 1, f"{gain:.2f}")
    target("last value within 150 ms after a drag", max(late) <= 150, f"worst {max(late):.0f} ms")


if __name__ == "__main__":
    main()
