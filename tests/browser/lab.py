"""A private JupyterLab and a notebook open in it, driven by Playwright in Chromium."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat

from tools.notebooks import SETUP, sections

ROOT = Path(__file__).resolve().parents[2]
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0  # then a sandbox or a server has to be told
CHROMIUM_FLAGS = [
    *(["--no-sandbox"] if AS_ROOT else []),
    "--disable-background-networking", "--disable-component-update", "--disable-gpu",
    "--disable-quic", "--disable-sync", "--no-first-run",
]  # fmt: skip
# Nothing may pop up over the notebook, and every cell is laid out at once.
# The rest is as a reader has it.
TRACKER = "@jupyterlab/notebook-extension:tracker"
NOTIFICATION = "@jupyterlab/apputils-extension:notification"
SETTINGS = {NOTIFICATION: {"doNotDisturbMode": True}, TRACKER: {"windowingMode": "none"}}
WINDOW = {"width": 1300, "height": 900}


# What makes something that lives in the browser: an explorer, a question.
ANY, EXPLORER, QUESTION, WIDGET = (
    re.compile(""),
    re.compile(r"\bexplore(_backward)?\("),
    re.compile(r"\bpredict\("),
    re.compile(r"\b(explore|explore_backward|AtlasBrowser)\("),
)


def cells_to_run(notebook) -> list[str]:
    """The ids of the setup cell, and of each section with a widget down to its last one.

    Of the questions, the first is enough: they differ in their texts alone. `make nb` runs the
    other cells; what they show is text and pictures, and stored.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    asked = next((cell for cell in code if QUESTION.search(cell.source)), None)
    chosen = [cell for cell in code if cell.id == SETUP] or code[:1]
    for _, cells in sections(notebook):
        cells = [cell for cell in cells if cell.cell_type == "code"]
        live = [n for n, cell in enumerate(cells, 1) if cell is asked or WIDGET.search(cell.source)]
        chosen += cells[: max(live, default=0)]
    return [cell.id for cell in chosen]


class Lab:
    """A running JupyterLab: the folder that it shows, its address and its token."""

    def __init__(self, folder: Path, url: str, token: str):
        self.folder, self.url, self.token, self.kernel = folder, url, token, None

    def write(self, name: str, *sources: str):
        """Add a notebook of these code cells."""
        python = {"name": "python3", "display_name": "Python 3"}  # or JupyterLab asks which
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": python})
        nbformat.write(notebook, self.folder / name)

    def shorten(self, name: str, ids: Collection[str] = ()) -> str:
        """Write a notebook that has only these cells, or those that widgets need; returns its name.

        A page takes ten seconds to show 150 more cells.
        """
        notebook = nbformat.read(self.folder / name, as_version=4)
        ids = ids or cells_to_run(notebook)
        notebook.cells = [cell for cell in notebook.cells if cell.id in ids]
        nbformat.write(notebook, self.folder / f"short_{name}")
        return f"short_{name}"

    def share_kernel(self, name: str):
        """Give this notebook the kernel that the last test used, where all is imported already."""
        if not self.kernel:
            self.kernel = json.loads(self._ask("api/kernels", "POST", {"name": "python3"}))["id"]
        about = {"path": name, "name": name, "type": "notebook", "kernel": {"id": self.kernel}}
        self._ask("api/sessions", "POST", about)

    @contextmanager
    def as_a_reader_has_it(self) -> Iterator[None]:
        """In pages that are opened meanwhile, cells are laid out and messages pop up as usual."""
        for plugin, changed in SETTINGS.items():
            schema = json.loads(self._ask(f"lab/api/settings/{plugin}"))["schema"]["properties"]
            self.set(plugin, {name: schema[name]["default"] for name in changed})
        yield
        for plugin in SETTINGS:
            self.set(plugin, {})

    def set(self, plugin: str, settings: dict):
        """Give the pages that are opened from now on these settings of a plugin."""
        self._ask(f"lab/api/settings/{plugin}", "PUT", {"raw": json.dumps(settings)})

    def restart_kernel(self):
        self._ask(f"api/kernels/{self.kernel}/restart", "POST", {})

    def end_kernels(self, shared=False):
        """A kernel with torch holds some 300 MB, so it should not live until the server ends."""
        sessions = json.loads(self._ask("api/sessions"))
        # several may share a kernel, and they end with it
        for kernel, session in {each["kernel"]["id"]: each["id"] for each in sessions}.items():
            if shared or kernel != self.kernel:
                self._ask(f"api/sessions/{session}", "DELETE")
        self.kernel = None if shared else self.kernel

    def _ask(self, path, method="GET", about=None):
        headers = {"Authorization": f"token {self.token}"}
        data = None if about is None else json.dumps(about).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()


@contextmanager
def running_lab(home: Path, notebooks: Path | None = None) -> Iterator[Lab]:
    """Serve a copy of `notebooks` from a free loopback port. All that Jupyter writes is in home."""
    folder = home / "notebooks"
    if notebooks:
        shutil.copytree(notebooks, folder, ignore=shutil.ignore_patterns(".*"))
    folder.mkdir(parents=True, exist_ok=True)
    overrides = home / "config" / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(json.dumps(SETTINGS))
    # Or Node.js, where there is one, checks whether to rebuild JupyterLab.
    overrides.with_name("page_config.json").write_text('{"buildCheck": false}')
    environment = dict(
        os.environ,
        IPYTHONDIR=str(home / "ipython"),
        JUPYTER_CONFIG_DIR=str(home / "config"),
        JUPYTER_DATA_DIR=str(home / "data"),
        JUPYTER_RUNTIME_DIR=str(home / "runtime"),
        JUPYTERLAB_SETTINGS_DIR=str(home / "settings"),
        JUPYTERLAB_WORKSPACES_DIR=str(home / "workspaces"),
        PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    )
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0",
        *(["--allow-root"] if AS_ROOT else []),
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.terminals_enabled=False",
        # As `make lab` does.
        f"--LabApp.extra_labextensions_path={ROOT / 'tools' / 'lab_extensions'}",
        f"--LabApp.app_settings_dir={ROOT / 'tools' / 'lab_settings'}",
        "--LabApp.expose_app_in_browser=True",  # window.jupyterapp, as JupyterLab's own tests use
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--KernelManager.shutdown_wait_time=0.2",  # a kernel has nothing to save, so none waits
    ]  # fmt: skip
    log = home / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        info = home / "runtime" / f"jpserver-{server.pid}.json"  # written when the port is bound
        started = wait_until(lambda: is_whole(info) or server.poll() is not None, seconds=900)
        if not started or server.poll() is not None:
            raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")
        about = json.loads(info.read_text())
        yield Lab(folder, about["url"], about["token"])
    finally:
        server.terminate()  # ends its kernels, too
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def picture_of(picture) -> tuple[dict, dict]:
    """A LivePicture as JSON for a page without a kernel: its tables, and what it shows."""
    tables = {"styles": picture.styles, "glyphs": picture.glyphs}
    shown = {
        key: getattr(picture, key)
        for key in ("axes", "parts", "handles", "words", "summary", "size")
    }
    for name in ("frame", "moving"):
        shown[name] = base64.b64encode(getattr(picture, name)).decode()
    return tables, shown


class Finger:
    """Touches a page as on a touch screen; Chromium also scrolls."""

    def __init__(self, session):
        self._session = session

    def tap(self, x: float, y: float):
        self._send("touchStart", x, y)
        self._send("touchEnd")

    def drag(self, x: float, y: float, right: float, down: float):
        self._send("touchStart", x, y)
        for k in range(1, 11):
            self._send("touchMove", x + right * k / 10, y + down * k / 10)
        self._send("touchEnd")

    def _send(self, kind, *place):
        points = [dict(zip("xy", place, strict=True))] if place else []
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@contextmanager
def finger_on(page) -> Iterator[Finger]:
    """Give the page a screen that can be touched."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        yield Finger(session)
    finally:
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
        session.detach()


def is_whole(file: Path) -> bool:
    """Does this JSON file exist, and is it complete?"""
    try:
        return bool(json.loads(file.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return False


def wait_until(check: Callable[[], object], seconds: float = 200) -> bool:
    """Ask again and again until `check` holds. False if it never did."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
