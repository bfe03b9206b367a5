"""Settings for the tests of the doctor."""

import pytest
import torch.distributed as dist


@pytest.fixture(autouse=True)
def no_process_group_left():
    yield
    if dist.is_initialized():
        dist.destroy_process_group()
