"""Settings for the tests of the doctor."""

import gc

import pytest
import torch.distributed as dist


@pytest.fixture(autouse=True)
def few_objects():
    """explain() looks through all objects: through more if processes work together."""
    gc.collect()
    gc.freeze()
    yield
    if dist.is_initialized():
        dist.destroy_process_group()
