"""Run a script or a module as `python script.py` or `python -m module` would."""

import argparse
import importlib.util
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from autograd_surprises.recording.guest import BORROWED

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def add_script(parser: argparse.ArgumentParser) -> None:
    """Add what names a script or a module, and its arguments."""
    parser.add_argument("script", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER,
        help="run a module, as python -m does; its arguments follow",
    )  # fmt: skip


def chosen_script(
    options: argparse.Namespace, fail: Callable[[str], NoReturn]
) -> tuple[Callable, list[str]]:
    """run_script or run_module, and what to give it; fails if there is none."""
    target = options.module or options.script
    if not target:
        fail("which script? Give its file, such as train.py, or -m and its module")
    if not options.module and not os.path.isfile(target[0]):
        fail(f"there is no file {target[0]}")
    return run_module if options.module else run_script, target


def run_script(path: str, arguments: Sequence[str] = ()) -> None:
    """Run a file; what it raises comes out of here.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    ...     _ = file.write("import sys; raise SystemExit(sys.argv[1])"); file.flush()
    ...     try: run_script(file.name, ["7"])
    ...     except SystemExit as left: print(left)
    7
    """
    with io.open_code(path) as file:
        source = file.read()
    whole = os.path.abspath(path)
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    code = compile(source, whole, "exec", dont_inherit=True)
    _run(code, [path, *arguments], None, SourceFileLoader("__main__", whole), whole)


def run_module(name: str, arguments: Sequence[str] = ()) -> None:
    """Run a module, or the `__main__` of a package; sys.path[0] has to be the current folder.

    Raises ImportError if there is none.
    """
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.loader is None:
        raise ImportError(f"No module named {name}")
    code = spec.loader.get_code(spec.name)
    _run(code, [spec.origin, *arguments], spec, spec.loader, spec.origin)


def _run(code: CodeType, argv: list, spec: ModuleSpec | None, loader, file):
    """In a new `__main__`, so that pickle and the processes that it starts find its names there."""
    module = ModuleType("__main__")
    names = {"__file__": file, "__spec__": spec, "__loader__": loader, "__cached__": None}
    vars(module).update(names, __builtins__=__builtins__)
    if spec is not None:
        module.__package__ = spec.parent
    sys.modules["__main__"], sys.argv[:] = module, argv
    exec(code, vars(module))


def exit_code(run: Callable, target: Sequence[str]) -> int | str | None:
    """Run a script or module, and return its exit code; what it raises is printed as by Python.

    KeyboardInterrupt is raised again after that, for the process to end by SIGINT.
    """
    try:
        run(target[0], target[1:])
    except SystemExit as left:
        return left.code
    except BaseException as error:
        error.__traceback__ = without_ours(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = lambda *printed: None
            raise
        return 1
    return None


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the lines of this package and of what started it.

    The script has no line before its first; what follows may pass through this package, too.
    """
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = without_ours(traceback.tb_next)
    return traceback


def _is_ours(traceback):
    code = traceback.tb_frame.f_code
    starts = (HERE, "<frozen runpy", "<frozen importlib")
    return code.co_name == BORROWED or code.co_filename.startswith(starts)
