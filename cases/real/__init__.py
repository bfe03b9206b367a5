"""The doctor on other people's models: healthy training steps, and bugs from real threads.

healthy    steps with nothing wrong, one module per family of models
bugs       steps with one fault each, as somebody reported it
The steps of cases/small that follow an example or a thread are a part of the study.
"""

import cases.library_imports  # noqa: F401  comes before a library that needs it
