"""The one sentence for a package that is missing because only notebooks need it."""

from collections.abc import Iterator
from contextlib import contextmanager

# traitlets comes with ipywidgets
PACKAGES = {"IPython", "PIL", "anywidget", "ipywidgets", "matplotlib", "numpy", "traitlets"}


@contextmanager
def notebooks_extra() -> Iterator[None]:
    """Around imports of what only notebooks need: if it is missing, the error says how to get it.

    Raises ModuleNotFoundError, as the import does.

    >>> with notebooks_extra():
    ...     raise ModuleNotFoundError(name="matplotlib.axes")
    Traceback (most recent call last):
    ModuleNotFoundError: matplotlib is missing: run pip install "autograd-surprises[notebooks]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        remedy = 'pip install "autograd-surprises[notebooks]"'
        raise ModuleNotFoundError(f"{package} is missing: run {remedy}", name=package) from None
