"""Large libraries, for the tests that need them: every walk after their import takes longer."""

from __future__ import annotations

import pytest

HEAVY = {"torch", "agg"}


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def agg():
    return pytest.importorskip("matplotlib.backends.backend_agg")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that import something large last."""
    items.sort(key=lambda item: bool(HEAVY.intersection(getattr(item, "fixturenames", ()))))
