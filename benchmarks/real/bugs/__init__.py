"""Steps with one fault each, as somebody reported it, one module per family of faults."""

import tools.library_imports  # noqa: F401  comes before a library that needs it
