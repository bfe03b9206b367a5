"""Settings for all tests."""

import os

from hypothesis import settings

# A slow machine is not a wrong answer, and a failure must be repeatable: the same examples every
# time.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")

# Two tests run at a time, and threads that wait for each other are slow. Not torch.set_num_threads:
# the browser tests need no torch, and it takes seconds to import.
os.environ.setdefault("OMP_NUM_THREADS", "1")
