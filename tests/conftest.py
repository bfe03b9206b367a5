"""Settings for all tests."""

import torch
from hypothesis import settings

# A slow machine is no wrong answer, and a failure must come again: the same examples every time.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")

torch.set_num_threads(1)  # two tests run at a time, and threads that wait for each other are slow
