"""Training steps with nothing wrong.

small       each as short as can be
on_purpose  methods that cut, freeze or round gradients, or start at 0
examples    well-known models, as their authors wrote them
practice    published methods, each with a habit that could raise a false alarm
"""

from healthy import examples, on_purpose, practice, small  # noqa: F401 (importing them fills HEALTHY)
from healthy.step import HEALTHY

__all__ = ["HEALTHY"]
