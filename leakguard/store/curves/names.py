"""Which column or tag of a stranger's file is memory, and in which unit."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}  # fmt: skip
_UNIT = re.compile(r"(?:^|[^a-z])(kib|mib|gib|kb|mb|gb|bytes)(?![a-z])", re.IGNORECASE)
_GPU = re.compile(r"gpu|cuda|allocated_bytes|reserved_bytes", re.IGNORECASE)
# The surest name first; a share in percent is no amount.
_MEMORY = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"(?<![a-z])rss(?![a-z])", r"(?<![a-z])ram(?![a-z])", r"mem(?:ory)?(?![a-z])")
)
_NONE = re.compile(r"percent|%|limit|total|available|free", re.IGNORECASE)


def memory_names(names: Iterable[str]) -> dict[str, str]:
    """Return which of ``names`` is which metric, at most one for each metric."""
    usable = [name for name in names if not _NONE.search(name)]
    found: dict[str, str] = {}
    for pattern in _MEMORY:
        for name in usable:
            if not _GPU.search(name) and pattern.search(name):
                found.setdefault("rss", name)
    for name in usable:
        if _GPU.search(name) and re.search("alloc|mem", name, re.IGNORECASE):
            found.setdefault("gpu_allocated", name)
    return {name: metric for metric, name in found.items()}


def factor(name: str) -> int:
    """Return the bytes that a value stands for, by the unit in its name; bytes without one."""
    match = _UNIT.search(name.replace("_", " "))
    return _UNITS.get(match[1].lower(), 1) if match else 1
