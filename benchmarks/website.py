"""How soon a page of the site can be used, and how soon a key press changes its picture.

    python benchmarks/website.py            after `make site`

Opens pages from disk in Chromium, each several times in a new browser context, so nothing is
cached. Prints tables for benchmarks/README.md.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.browser.lab import CHROMIUM_FLAGS  # noqa: E402
from tools.chromium import find_chromium  # noqa: E402
from tools.notebooks import ROOT, notebook_files  # noqa: E402

SITE = ROOT / "site"
PAGES = ["index", *(file.stem for file in notebook_files())]
LOADS, PRESSES = 5, 40

# Milliseconds from the start of the load until the first explorer is there.
USABLE = """() => new Promise(done => {
  const see = () => document.querySelector('.explorer canvas[aria-label]')
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : requestAnimationFrame(see);
  see();
})"""
# Milliseconds from each key press until the frame after it is on its way to the screen.
LISTEN = """() => {
  const control = document.querySelector('.explorer input, .explorer select');
  window.waited = [];
  control.addEventListener('keydown', event => requestAnimationFrame(() => setTimeout(() =>
    window.waited.push(performance.now() - event.timeStamp))), {capture: true});
  control.focus();
}"""


def measured(browser, name):
    """(milliseconds until usable, milliseconds from key press to pixels), of one page."""
    usable, waited = [], []
    for _ in range(LOADS):
        context = browser.new_context(viewport={"width": 1300, "height": 900}, offline=True)
        page = context.new_page()
        page.goto((SITE / f"{name}.html").as_uri(), wait_until="commit")
        usable.append(page.evaluate(USABLE))
        page.evaluate(LISTEN)
        for k in range(PRESSES):
            page.keyboard.press("ArrowUp" if k % 20 < 10 else "ArrowDown")
            page.wait_for_function("k => window.waited.length > k", arg=k)
        waited += page.evaluate("window.waited")
        context.close()
    return usable, waited


def main():
    if not SITE.exists():
        sys.exit("there is no site yet: run `make site`")
    print("| page | first explorer, ms, median / slowest | key press → pixels, ms, median / p95 |")
    print("|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for name in PAGES:
            usable, waited = measured(browser, name)
            p95 = statistics.quantiles(waited, n=20)[-1]
            print(
                f"| {name} | {statistics.median(usable):.0f} / {max(usable):.0f} "
                f"| {statistics.median(waited):.1f} / {p95:.1f} |",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
