"""Where Chromium is, for tests, recordings and benchmarks."""

import os
import shutil

NAMES = [
    "chromium-headless-shell",  # Chromium without windows, which is quicker
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]


def find_chromium() -> str:
    """Path of a Chromium. Without one, the path where playwright would install its own."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            path = playwright.chromium.executable_path
    return path
