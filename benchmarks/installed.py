"""Which of the compared libraries are here. A real run needs all of them, a short turn does not."""

from collections.abc import Iterable
from importlib.util import find_spec


def installed(libraries: Iterable[str]) -> list[str]:
    return [library for library in libraries if find_spec(library)]


def left_out(libraries: Iterable[str]) -> str:
    """What the first line of a result says of those that are not installed."""
    missing = [library for library in libraries if not find_spec(library)]
    return f", left out: {', '.join(missing)} (not installed)" if missing else ""


def need(libraries: Iterable[str], group: str):
    """End a real run that lacks one of them."""
    if missing := [library for library in libraries if not find_spec(library)]:
        raise SystemExit(
            f"{', '.join(missing)}: not installed, and a benchmark without its peers proves "
            "nothing: pip install -c constraints.txt -e . "
            f"--group {group}, with Python 3.11 or later"
        )
