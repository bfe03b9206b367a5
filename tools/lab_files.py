"""How JupyterLab reads notebooks when `make lab` starts it."""

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Notebooks(AsyncLargeFileManager):
    """Opens a notebook with the version of Python that its kernel is going to report.

    Our files do not say which Python ran them. JupyterLab adds it as soon as the kernel has
    started, and then asks the reader to save changes that nobody made, or saves them itself.
    """

    async def get(self, path, content=True, *rest, **options):
        model = await super().get(path, content, *rest, **options)
        if content and model["type"] == "notebook":
            language = model["content"]["metadata"].get("language_info", {})
            if language.get("name") == "python":
                language.update(IPythonKernel.language_info)
        return model
