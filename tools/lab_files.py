"""How JupyterLab reads and saves notebooks when `make lab` starts it."""

import json
import subprocess
from pathlib import Path
from queue import Empty

import nbformat
from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from tools.notebooks import WIDGET_VIEW


class Notebooks(AsyncLargeFileManager):
    """Leaves a notebook that git tracks as it is until the reader changes the text of a cell.

    `git pull` refuses to replace a file that has changed, even if its cells have only been run.
    """

    def __init__(self, *rest, **options):
        super().__init__(*rest, **options)
        self._only_run = {}  # file: the notebook as JupyterLab has saved it

    async def get(self, path, content=True, *rest, **options):
        """Opens a notebook with the version of Python that its kernel is going to report.

        Our files do not say which Python ran them. JupyterLab adds it as soon as the kernel has
        started, and then asks the reader to save changes that nobody made, or saves them itself.
        """
        model = await super().get(path, content, *rest, **options)
        if content and model["type"] == "notebook":
            kernel = await self._kernel_of(model["path"])
            model["content"] = notebook = self._as_left(model, kernel)
            await self._drop_dead_widgets(notebook, kernel)
            language = notebook["metadata"].get("language_info", {})
            if language.get("name") == "python":
                language.update(IPythonKernel.language_info)
        return model

    def mark_trusted_cells(self, nb, path=""):
        """Trusts what git has: JupyterLab shows the living widgets of trusted notebooks only."""
        file = self._get_os_path(path)
        if self._in_git(file) == contents(file):
            self.notary.sign(nb)
        super().mark_trusted_cells(nb, path)

    async def _save_notebook(self, os_path, nb, capture_validation_error=None):
        """Writes no file if cells have only been run. While their kernel lives, `get` shows it."""
        committed, text = self._in_git(os_path), nbformat.writes(nb)
        if committed is None or sources(text) != sources(committed):
            self._only_run.pop(os_path, None)
            await super()._save_notebook(os_path, nb, capture_validation_error)
            return
        self._only_run[os_path] = text
        if sources(contents(os_path)) != sources(committed):  # an answer was taken back
            await self._save_file(os_path, committed.decode(), "text")

    async def restore_checkpoint(self, checkpoint_id, path):
        """Brings the file back, and with it what the file shows."""
        self._only_run.pop(self._get_os_path(path), None)
        await super().restore_checkpoint(checkpoint_id, path)

    def _in_git(self, file):
        """What the last commit has of this file. None without git, or if git does not track it."""
        name = Path(file).relative_to(self.root_dir).as_posix()
        command = ["git", "cat-file", "blob", f"HEAD:./{name}"]
        try:
            found = subprocess.run(command, cwd=self.root_dir, capture_output=True)
        except OSError:
            return None
        return None if found.returncode else found.stdout

    async def _kernel_of(self, path):
        """The id of the kernel that runs for this notebook, or None."""
        sessions = await self.parent.session_manager.list_sessions()
        return next((each["kernel"]["id"] for each in sessions if each["path"] == path), None)

    def _as_left(self, model, kernel):
        """The notebook as it was left, if its kernel still lives, or else as the file has it."""
        file = self._get_os_path(model["path"])
        text = self._only_run.get(file)
        if not kernel or not text or sources(text) != sources(contents(file)):
            self._only_run.pop(file, None)
            return model["content"]
        notebook = nbformat.reads(text, as_version=4)
        super().mark_trusted_cells(notebook, model["path"])  # trusted if it was when it was saved
        return notebook

    async def _drop_dead_widgets(self, notebook, kernel):
        """JupyterLab would say "model not found" instead of showing the picture beside a widget."""
        outputs = [each for cell in notebook["cells"] for each in cell.get("outputs", [])]
        outputs = [each for each in outputs if WIDGET_VIEW in each.get("data", {})]
        living = await self._widgets_of(kernel) if kernel and outputs else []
        for output in outputs:
            if living is not None and output["data"][WIDGET_VIEW]["model_id"] not in living:
                del output["data"][WIDGET_VIEW]

    async def _widgets_of(self, kernel):
        """The ids of this kernel's widgets, or None if it does not answer."""
        client = self.parent.kernel_manager.get_kernel(kernel).client()
        client.start_channels(shell=False, iopub=False, stdin=False, hb=False)
        question = client.session.msg("comm_info_request", {"target_name": "jupyter.widget"})
        client.control_channel.send(question)  # also answered while a cell runs
        try:
            answer = await client.get_control_msg(timeout=2)
        except Empty:
            return None
        finally:
            client.stop_channels()
        return answer["content"]["comms"]


def contents(file):
    return Path(file).read_bytes() if Path(file).exists() else b""


def sources(text):
    """What a reader types: kind and source of each cell. None if this is no notebook."""
    try:
        return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError):
        return None
