"""Start a JupyterHub with docs/jupyterhub_config.py, where a whole class opens notebook 00 at once.

    python benchmarks/classroom.py

Needs jupyterhub in this environment, configurable-http-proxy on the PATH, and student/ (`make
student`). Run it as an ordinary user: Jupyter does not serve root.
"""

import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import nbformat
import psutil
import requests
import websocket

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.chromium import find_chromium  # noqa: E402

FIRST = "notebooks/00_start_here.ipynb"
LEARNERS = 5
SETTINGS = """
load_subconfig({config!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.JupyterHub.services = [{{"name": "benchmark", "api_token": {token!r}}}]
scopes = ["admin:users", "admin:servers", "access:servers"]
c.JupyterHub.load_roles = [{{"name": "all", "scopes": scopes, "services": ["benchmark"]}}]
"""
PASSWORD = uuid.uuid4().hex


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [each.getsockname()[1] for each in sockets]


def wait_until(check, seconds=180):
    end = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > end:
            raise TimeoutError(f"nothing happened for {seconds} s")
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def running_hub(folder):
    """(process, address, API token) of a hub whose learners' folders are in `folder`."""
    port, hub_port, proxy_port = free_ports(3)
    token, config = uuid.uuid4().hex, str(ROOT / "docs" / "jupyterhub_config.py")
    text = SETTINGS.format(**locals())
    (folder / "config.py").write_text(text)
    environment = {
        **os.environ,
        "CLASS_PASSWORD": PASSWORD,
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    }
    with (folder / "hub.log").open("w") as log:
        hub = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", "config.py"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        address = f"http://127.0.0.1:{port}"

        def answers():
            if hub.poll() is not None:
                raise SystemExit((folder / "hub.log").read_text()[-3000:])
            with contextlib.suppress(requests.ConnectionError):
                return requests.get(f"{address}/hub/api").ok

        wait_until(answers)
        yield hub, address, token
    finally:
        family = [] if hub.poll() else psutil.Process(hub.pid).children(recursive=True)
        hub.terminate()
        psutil.wait_procs(family, timeout=20)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def first_cells():
    """The cells of notebook 00 down to its first explorer."""
    cells = nbformat.read(ROOT / "student" / FIRST, as_version=4).cells
    return cells[: 1 + next(i for i, cell in enumerate(cells) if "explore(" in cell.source)]


def learn(address, token, name):
    """Open the notebook as a learner.

    Returns the seconds until the server answers, those until a slider is there, and the kernel's
    connection, which has to stay open.
    """
    began = time.monotonic()
    ask = requests.Session()
    ask.headers["Authorization"] = f"token {token}"
    ask.post(f"{address}/hub/api/users/{name}").raise_for_status()
    ask.post(f"{address}/hub/api/users/{name}/server").raise_for_status()
    about = f"{address}/hub/api/users/{name}"
    wait_until(lambda: ask.get(about).json()["servers"].get("", {}).get("ready"))
    server = time.monotonic() - began
    base = f"{address}/user/{name}/api"
    started = ask.post(f"{base}/kernels", json={"name": "python3"})
    started.raise_for_status()
    channels = f"{base}/kernels/{started.json()['id']}/channels".replace("http", "ws", 1)
    connection = websocket.create_connection(
        channels, header=[f"Authorization: token {token}"], timeout=180
    )
    for cell in first_cells():
        if cell.cell_type == "code":
            execute(connection, cell.source)
    return server, time.monotonic() - began, connection


def execute(connection, source):
    content = dict(code=source, silent=False, store_history=True, user_expressions={})
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
    header |= {"username": "learner", "session": uuid.uuid4().hex, "date": ""}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    connection.send(json.dumps(message | {"channel": "shell", "buffers": []}))
    while True:
        data = connection.recv()
        if isinstance(data, bytes):
            continue  # a picture's strokes
        message = json.loads(data)
        if message["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if message["msg_type"] == "error":
            raise RuntimeError(message["content"]["evalue"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return


def use(hub):
    """kind of process -> [(RSS in MB, PSS in MB, CPU seconds) of each].

    PSS splits shared memory evenly between the processes that share it.
    """
    kinds = {"configurable-http-proxy": [], "ipykernel_launcher": [], "singleuser": [], "": []}
    for process in [hub, *psutil.Process(hub.pid).children(recursive=True)]:
        process = psutil.Process(process.pid)
        line = " ".join(process.cmdline())
        kind = next(name for name in kinds if name in line)
        full, spent = process.memory_full_info(), process.cpu_times()
        kinds[kind].append((full.rss / 1e6, full.pss / 1e6, spent.user + spent.system))
    return kinds


def in_a_browser(address, name):
    """Seconds from login until the notebook opens, and until a slider is there, for one learner."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium())
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.set_default_timeout(180_000)
        page.goto(address)
        page.fill("#username_input", name)
        page.fill("#password_input", PASSWORD)
        began = time.monotonic()
        page.press("#password_input", "Enter")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        opened = time.monotonic() - began
        page.wait_for_selector("text=Python 3 (ipykernel) | Idle")
        page.click(".jp-Notebook .jp-Cell")
        for _ in first_cells():
            page.keyboard.press("Shift+Enter")
        page.wait_for_selector(".jp-Notebook [role=slider]")
        slider = time.monotonic() - began
        browser.close()
    return opened, slider


def main():
    names = ("jupyterhub", "jupyterlab", "torch", "ipywidgets")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    python = f"Python {platform.python_version()}"
    print(f"{time.strftime('%Y-%m-%d')}, {python}, {packages}, {os.cpu_count()} cores")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_hub(Path(folder)) as (hub, address, token),
    ):
        with ThreadPoolExecutor(LEARNERS) as pool:
            jobs = [pool.submit(learn, address, token, f"learner{i}") for i in range(LEARNERS)]
            seconds = [job.result() for job in jobs]
        used = use(hub)
        print(f"\n{LEARNERS} learners at once, without browsers:")
        print(f"- their servers answer after {seconds_of(each[0] for each in seconds)}")
        print(f"- the first slider is there after {seconds_of(each[1] for each in seconds)}")
        for kind, title in (
            ("ipykernel_launcher", "a kernel with an explorer"),
            ("singleuser", "a learner's server"),
            ("", "the hub"),
            ("configurable-http-proxy", "its proxy"),
        ):
            rss, pss, seconds = map(max, zip(*used[kind], strict=True))
            print(f"- {title}: RSS {rss:.0f} MB, PSS {pss:.0f} MB, {seconds:.1f} s of CPU time")
        total = sum(pss for kind in used.values() for _, pss, _ in kind)
        print(f"- all together: PSS {total:,.0f} MB")
        opened, slider = in_a_browser(address, "alone")
        print(f"\nOne more learner, in Chromium: notebook {opened:.1f} s, slider {slider:.1f} s")


def seconds_of(each):
    each = sorted(each)
    return f"{each[0]:.1f} to {each[-1]:.1f} s"


if __name__ == "__main__":
    main()
