"""Is everything that the notebooks need installed? If not, which command repairs it?"""

import sys
from importlib import metadata

from autograd_surprises.show.notebooks_extra import notebooks_extra

with notebooks_extra():
    from packaging.requirements import Requirement

PROJECT = "autograd-surprises"


def check_installation() -> None:
    """Print that all is well, or one line with the remedy for each package missing or too old.

    >>> check_installation()
    Everything that the notebooks need is installed.
    """
    problems = missing_packages()
    print("\n".join(problems) or "Everything that the notebooks need is installed.")


def missing_packages() -> list[str]:
    """One sentence with its remedy for each requirement of this project that is not met."""
    try:
        requirements = map(Requirement, metadata.requires(PROJECT) or [])
    except metadata.PackageNotFoundError:
        return [f"{PROJECT} itself is not installed. In its folder: {_pip('-e .')}"]
    problems = []
    for requirement in requirements:
        if requirement.marker and not requirement.marker.evaluate({"extra": "notebooks"}):
            continue
        wanted = f"{requirement.name}{requirement.specifier}"
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            problems.append(f"{requirement.name} is missing: {_pip(repr(wanted))}")
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            problems.append(f"{requirement.name} {found} does not fit: {_pip(repr(wanted))}")
    return problems


def _pip(what):
    return f"{sys.executable} -m pip install {what}"
