"""One thread, so that suites that run side by side do not slow one another down; and a fixed seed."""

import os
import sys

import pytest

# before torch is imported, and without importing it for tests that need none
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"


@pytest.fixture(autouse=True)
def _one_thread_and_a_fixed_seed():
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
