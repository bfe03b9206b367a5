"""All rules of the doctor, by their ids."""

import importlib
import pkgutil
import re
from functools import cache

from autograd_surprises import symptoms
from autograd_surprises.symptoms.rule import Rule, Rulebook


@cache
def all_rules() -> dict[str, Rule]:
    """{id: rule} of every module of this package.

    >>> all_rules()["hook/zero"].sentence
    'a hook replaced the gradient by zeros'
    """
    names = [module.name for module in pkgutil.iter_modules(symptoms.__path__)]
    found = {}
    for name in names:
        if f"{symptoms.__name__}.{name}" != __name__:
            for value in vars(importlib.import_module(f"{symptoms.__name__}.{name}")).values():
                rules = value if isinstance(value, Rulebook) else [value]
                found.update({rule.id: rule for rule in rules if isinstance(rule, Rule)})
    return found


def in_general(text: str) -> str:
    """The sentence or the fix of a rule, with … for the facts of a training step.

    Returns "" for a text that consists of facts alone.

    >>> in_general("{detail}{operation}() has no derivative in PyTorch. {sentence}")
    '…() has no derivative in PyTorch.'
    """
    without_counts = re.sub(r"{detail}(?! )", "", text)
    general = re.sub(r"{\w+(?::[^}]*)?}", "…", without_counts)
    return re.sub(r"(^|[.:]) ?…$", r"\1", general).removesuffix(":")
