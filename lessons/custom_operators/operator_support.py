"""Which way of writing an operation supports what, in the versions of torch that were measured."""

import json
from importlib.resources import files

MEASURED = json.loads(files("lessons").joinpath("measured/operators.json").read_text("utf-8"))
NEEDS = {
    "double backward": "a gradient of a gradient",
    "vmap": "vmap",
    "vmap(grad)": "torch.func.grad of each row",
    "jvp": "forward mode",
    "compile(aot_eager)": "torch.compile",
    "compile(grad)": "torch.compile of torch.func.grad",
    "compile(jvp)": "torch.compile of forward mode",
}
MARKS = {"works": "✓ works", "refused": "– an error", "silently wrong": "✗ silently wrong"}


def support() -> dict[str, dict[str, str]]:
    """{need: {way: what happens}}, with the version where torch changed it.

    >>> support()["torch.compile of torch.func.grad"]["Function"]
    '✗ silently wrong; ✓ works in 2.15.0'
    """
    ways = next(iter(MEASURED.values()))["cards"]
    return {need: {way: _said(way, row) for way in ways} for row, need in NEEDS.items()}


def _said(way, row):
    told = []
    for version, measured in MEASURED.items():
        mark = MARKS[measured["cards"][way][row]]
        if not told or not told[-1].startswith(mark):
            told.append(f"{mark} in {version}" if told else mark)
    return "; ".join(told)
