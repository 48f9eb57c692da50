"""Settings of all tests: the CPU engine unless a test asks for another one, and no threads beyond two."""

import os

import pytest

for name in [name for name in os.environ if name.startswith("SAPPORO_")]:
    del os.environ[name]
os.environ["SAPPORO_BACKEND"] = "cpu"
os.environ["SAPPORO_CACHE"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "2")


@pytest.fixture
def context():
    """An open context of order 4 in dp."""
    import sapporo

    with sapporo.Context(precision="dp") as opened:
        yield opened
