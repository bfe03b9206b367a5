"""Settings for all tests."""

from hypothesis import settings

# A slow machine is no wrong answer, and a failure must come again: the same examples every time.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
