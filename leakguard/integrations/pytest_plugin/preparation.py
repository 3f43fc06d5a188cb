"""Makes the budget of a test ready before anything of the test itself is measured."""

from __future__ import annotations

import gc
import hashlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from leakguard.analysis import budget_settings, diagnosis  # noqa: F401 - loaded before a test begins
from leakguard.capture import heap
from leakguard.capture.watchlist import qualified_name
from leakguard.errors import UsageError
from leakguard.integrations.pytest_plugin.budget import MemoryBudget
from leakguard.integrations.pytest_plugin.settings import Watch, settings_of

_LONGEST = 80
_MEMRAY = ("limit_memory", "limit_leaks", "limit_leaked_objects")


def prepared(
    item: pytest.Item, arguments: Mapping[str, Any], ini: Mapping[str, str], folder: Path | None
) -> MemoryBudget:
    """Return the budget of a test.

    Raises:
        UsageError: the test or an argument of its mark cannot be used.
    """
    _usable(item)
    settings = settings_of(arguments, ini)
    place = None if folder is None else folder / _slug(item.nodeid)
    return MemoryBudget(
        item.nodeid, settings, _alive(settings.watch), place, traced=_is_traced(item)
    )


def _is_traced(item: pytest.Item) -> bool:
    """True where pytest-memray records the allocations of the test."""
    marked = any(item.get_closest_marker(name) for name in _MEMRAY)
    return marked or bool(item.config.getoption("--memray", default=False))


def _usable(item: pytest.Item) -> None:
    if not isinstance(item, pytest.Function) or hasattr(item, "_testcase"):
        raise UsageError("memory_budget works on test functions and methods, not on unittest cases")
    if inspect.iscoroutinefunction(item.obj) and "memory_budget" not in item.fixturenames:
        raise UsageError(
            "memory_budget cannot repeat a coroutine; loop over the fixture in the test: "
            "for generation in memory_budget.generations(5): await ..."
        )


def _alive(watch: Watch) -> dict[str, int]:
    """Count the instances that other tests left behind."""
    if not watch:
        return {}
    gc.collect()
    return dict(heap.census({qualified_name(cls): cls for cls in watch}).watched)


def _slug(name: str) -> str:
    """Return a folder name for a test; one that had to be changed gets a mark of its own."""
    safe = re.sub(r"[^\w.-]+", "-", name.removesuffix("]")).strip("-.")
    if len(safe) > _LONGEST or safe != name:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:6]
        safe = f"{safe[-_LONGEST:].lstrip('-.')}-{digest}"
    return safe
