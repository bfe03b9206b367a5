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

from lab import CHROMIUM_FLAGS, NotebookPage, running_lab  # noqa: E402

TURNS, MOVES, PRESSES = 4, 40, 15  # contenders take turns: a busy moment should hit them all
OURS, INTERACT, IDLE, BLIT = "ours", "interact, inline", "ipympl draw_idle", "ipympl blitting"

COMMON = """
import time
import ipywidgets, matplotlib.pyplot as plt, torch
from IPython.display import display
from helpers.curves import gradient_curve
from helpers.explorer import explore
from helpers.plotting import CurveArtists

def round_to(x, step=0.5):
    return step * torch.round(x / step)

def curve(step):
    return gradient_curve(round_to, (-3, 3), step=step)

def empty_figure():
    figure = plt.figure(figsize=(8, 3.4), dpi=100)
    artists = CurveArtists(*figure.subplots(1, 2))
    artists.value_ax.set(xlim=(-3, 3), ylim=(-3.5, 3.5))
    artists.gradient_ax.set(xlim=(-3, 3), ylim=(-0.1, 1.1))
    lines = [artists.value, artists.gradient, artists.slope, artists.lies]
    figure.legend(handles=lines, loc="lower center", ncols=4, frameon=False)
    figure.subplots_adjust(left=0.06, right=0.98, top=0.83, bottom=0.22, wspace=0.14)
    figure.suptitle("round_to")
    return figure, artists

def new_slider():
    return ipywidgets.FloatSlider(
        0.5, min=0.1, max=2.0, step=0.01, description="step", layout={"width": "600px"}
    )
"""
IPYMPL = """
%matplotlib widget
with plt.ioff():
    figure, artists = empty_figure()
canvas = figure.canvas
canvas.header_visible = canvas.footer_visible = canvas.toolbar_visible = False
slider = new_slider()
"""
SHOW_IPYMPL = """
slider.observe(lambda change: update(change.new), "value")
display(slider, canvas)
if not BROWSER:  # what a browser says to a canvas that it has opened
    canvas._handle_message(canvas, {"type": "initialized"}, [])
    canvas._handle_message(canvas, {"type": "set_device_pixel_ratio", "device_pixel_ratio": 2}, [])
    canvas.draw()
"""
CONTENDERS = {
    OURS: """
explorer = explore(round_to, step=(0.1, 2.0, 0.01))
slider = explorer.sliders["step"]
display(explorer)
""",
    INTERACT: """
%matplotlib inline
%config InlineBackend.figure_format = "retina"
def draw(step):
    figure, artists = empty_figure()
    artists.show(curve(step))
    plt.show()
slider = new_slider()
ipywidgets.interact(draw, step=slider)
""",
    IDLE: IPYMPL
    + """
def update(step):
    artists.show(curve(step))
    canvas.draw_idle()
    if not BROWSER:  # a browser answers by asking for the drawing
        canvas._handle_message(canvas, {"type": "draw"}, [])
"""
    + SHOW_IPYMPL,
    BLIT: IPYMPL
    + """
for artist in artists.moving:
    artist.set_animated(True)
def keep(event):
    global frame
    frame = canvas.copy_from_bbox(figure.bbox)
    for artist in artists.moving:
        figure.draw_artist(artist)
canvas.mpl_connect("draw_event", keep)
def update(step):
    artists.show(curve(step))
    canvas.restore_region(frame)
    for artist in artists.moving:
        figure.draw_artist(artist)
    canvas.blit(figure.bbox)
"""
    + SHOW_IPYMPL,
}
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
    kernels = {name: start_new_kernel(kernel_name="python3") for name in CONTENDERS}
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
    seconds = opened.drag(slider, 400)
    still(opened.page)
    return opened.page.evaluate("Math.max(0, window.changed - window.dragged)"), seconds


def browser_side(folder):
    """Milliseconds from key press to pixels for all, and after a drag on ours."""
    presses, drags = {name: [] for name in CONTENDERS}, []
    with sync_playwright() as playwright, running_lab(folder) as lab:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        for name, code in CONTENDERS.items():
            lab.write(f"{name}.ipynb", COMMON + "BROWSER = True\n" + code)
        for _ in range(TURNS):
            for name in CONTENDERS:
                page = browser.new_page(
                    viewport={"width": 1300, "height": 900}, device_scale_factor=2
                )
                opened = NotebookPage(page, lab, f"{name}.ipynb")
                opened.run_all()
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
    print(f"{date.today()}, Python {platform.python_version()}, {versions}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        moves, curves = kernel_side()
        presses, drags = browser_side(Path(folder))
    table(f"kernel: one slider move (n = {len(moves[OURS])})", moves)
    share = statistics.median(curves) / statistics.median(moves[OURS])
    print(f"\nComputing the curve: {statistics.median(curves):.1f} ms, {share:.0%} of ours.")
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
