"""The atlas of the installed torch: read from its file, or measured."""

import platform
import warnings
from dataclasses import replace

import torch

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.elementwise_operations import all_operations
from autograd_surprises.atlas.measuring import measure, measure_tie
from autograd_surprises.atlas.record import Atlas, stored, versions
from autograd_surprises.atlas.rows import TIES
from autograd_surprises.atlas.ties import Tie
from autograd_surprises.numerics import one_thread


def atlas(version: str | None = None) -> Atlas:
    """The numbers of a measured torch version, by default of the installed one.

    An installed torch that was not measured yet is measured now, which takes some ten seconds.
    Raises ValueError for another version that was not measured.

    >>> atlas("2.14").operations["torch.clamp_min(x, -1)"].probes["-1"].gradient
    0.0
    """
    if version is None and installed_version() not in versions():
        return survey()
    return stored(_minor(version) if version else installed_version())


def installed_version() -> str:
    """The installed torch, as the files name it: 2.13."""
    return _minor(torch.__version__)


def _minor(version):
    return ".".join(version.split(".")[:2])


def survey() -> Atlas:
    """Measure all operations and ties of the installed torch."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # functions that torch is about to remove warn
        measured = [measure(operation) for operation in all_operations()]
        ties = {name: measure_tie(Tie(name)) for name in TIES}
    measured, aliases = without_aliases(measured)
    operations = {each.expression: each for each in sorted(measured, key=lambda m: m.expression)}
    return Atlas(installed_version(), processor(), operations, ties, aliases)


def processor() -> str:
    """This one, as far as it matters: vector instructions are code of their own in torch."""
    capability = torch.backends.cpu.get_cpu_capability().replace("AVX512", "AVX2")  # the same
    return f"{platform.machine()} {capability}"


def without_aliases(measured: list[Measured]) -> tuple[list[Measured], dict[str, list[str]]]:
    """Keep one of those with the same node, the same arguments and the same numbers."""
    groups = {}
    for each in measured:
        # NaN is not NaN, but "nan" is "nan"; of two without a derivative nothing is known
        arguments = each.expression.partition("(")[2]
        key = each.expression if each.error else repr(replace(each, expression=arguments))
        groups.setdefault(key, []).append(each)
    best = [sorted(group, key=_familiar) for group in groups.values()]
    aliases = {
        first.expression: sorted(each.expression for each in rest) for first, *rest in best if rest
    }
    return [group[0] for group in best], aliases


def _familiar(measured):
    """torch before F before special, then the name that the graph's node has, then the shortest."""
    space, _, name = measured.expression.partition("(")[0].partition(".")
    node = measured.backward.lower().startswith(name.replace("_", "") + "backward")
    return ["torch", "F", "special"].index(space), not node, len(name), name
