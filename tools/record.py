"""Record the moving pictures of README.md: the first explorer of notebook 00, in JupyterLab.

.venv/bin/python tools/record.py        writes docs/explorer-light.webp and -dark.webp
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from lab import CHROMIUM_FLAGS, NotebookPage, running_lab, wait_until  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from tools.chromium import find_chromium  # noqa: E402

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
SET_THEME = """theme => window.jupyterapp.commands
  .execute('apputils:change-theme', {theme}).then(() => true)"""
MOVE, LOOK = 130, 1500  # milliseconds that a picture is shown: while something moves, and at rest
SETTLE = 4000  # milliseconds without a move, after which the axes have their final limits
MARGIN = 8
SCREEN = {"width": 1280, "height": 900}


def play(explorer, box):
    """Do what a reader does. Yields, for each picture, the milliseconds to show it."""
    width, gradient = explorer.slider("width"), box.get_by_label("gradient", exact=True)
    step = box.get_by_role("button", name="Step")
    yield LOOK
    for key in ["ArrowRight"] * 8 + ["ArrowLeft"] * 8:
        width.press(key)
        width.press(key)
        yield MOVE
    step.press("Enter")  # the default gradient is 0, and the point stays where it is
    yield LOOK
    gradient.select_option("straight-through")
    yield LOOK
    for _ in range(20):
        step.press("Enter")
        yield MOVE
    yield LOOK


def film(notebook) -> list[tuple[bytes, int]]:
    """A PNG of each picture, and the milliseconds to show it."""
    notebook.run()
    explorer = notebook.explorers()[0]
    notebook.page.wait_for_timeout(SETTLE)
    explorer.box.evaluate("box => box.parentElement.style.background = 'var(--jp-layout-color0)'")
    explorer.box.scroll_into_view_if_needed()
    picture = explorer.picture.bounding_box()
    controls = explorer.box.locator(".explorer-controls").bounding_box()
    clip = {  # the picture with its read-out and its controls
        "x": picture["x"] - MARGIN,
        "y": picture["y"],
        "width": picture["width"] + 2 * MARGIN,
        "height": controls["y"] + controls["height"] - picture["y"] + MARGIN,
    }
    frames = []
    for milliseconds in play(explorer, explorer.box):
        if not wait_until(explorer.agrees):
            raise RuntimeError(f"the picture lags behind its controls: {explorer.text}")
        frames.append((notebook.page.screenshot(clip=clip), milliseconds))
    return frames


def save(frames, path):
    images = [Image.open(io.BytesIO(png)).convert("RGB") for png, _ in frames]
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=[milliseconds for _, milliseconds in frames],
        loop=0,
        quality=60,
        method=6,
    )
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB, {len(images)} pictures")


def main():
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        with running_lab(Path(home) / "lab", ROOT / "notebooks") as lab:
            for name, theme in THEMES.items():
                page = browser.new_page(viewport=SCREEN, device_scale_factor=2)
                notebook = NotebookPage(page, lab, "00_start_here.ipynb")
                page.evaluate(SET_THEME, theme)
                save(film(notebook), ROOT / "docs" / f"explorer-{name}.webp")
                page.close()
                lab.end_kernels(shared=True)


if __name__ == "__main__":
    main()
