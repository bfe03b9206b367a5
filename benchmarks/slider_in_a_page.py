"""How long a slider move takes until its pixels are on the page: explorer.py, in Chromium.

python benchmarks/slider_in_a_page.py    needs Chromium, and what `make bench` installs
"""
# ruff: noqa: E402  run as a script, these folders are not on the path

import statistics
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser.lab import CHROMIUM_FLAGS, running_lab
from browser.notebook_page import NotebookPage
from contenders import BLIT, CONTENDERS, INTERACT, OURS
from explorer import TURNS, cell, p95, print_versions, table, target

PRESSES = 15
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
    if complaints := opened.complaints():
        raise RuntimeError(complaints)
    return times, late


@contextmanager
def opener():
    """Opens a notebook of a contender in a page and a kernel of its own."""
    from conftest import find_chromium  # pytest has another of that name

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


if __name__ == "__main__":
    print_versions()
    show_browser_side(*browser_side())
