"""The doctor on other people's models: healthy training steps, and bugs from real threads.

healthy    steps with nothing wrong, one module per family of models
bugs       steps with one fault each, as somebody reported it
scores     run one step, and note what the doctor says of it
page       docs/real_models.md

The decorators and the judge are those of tests/doctor, whose own steps are a part of the study
where they follow an example or a thread.
"""

import cases.library_imports  # noqa: F401  comes before a library that needs it
