"""Read the data files of this package, which are TOML."""

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(__file__).parent.parent


def read_toml(path: str) -> dict[str, Any]:
    """The content of a file of this package.

    Raises ValueError, which names the file, if it is not valid TOML.

    >>> read_toml("messages/tensors.toml")["not-a-leaf"]["section"]
    'leaf.which'
    """
    try:
        return tomllib.loads((PACKAGE / path).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
