"""Large libraries, for the tests that need them: every walk after their import takes longer."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

HEAVY = {"torch", "agg"}


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def agg():
    return pytest.importorskip("matplotlib.backends.backend_agg")


@pytest.fixture
def only_own_garbage() -> Iterator[None]:
    """Have no garbage but the test's own, which no collection frees."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that import something large last."""
    items.sort(key=lambda item: bool(HEAVY.intersection(getattr(item, "fixturenames", ()))))
