"""Healthy training steps, one module per family of models."""

import tools.library_imports  # noqa: F401  comes before a library that needs it
