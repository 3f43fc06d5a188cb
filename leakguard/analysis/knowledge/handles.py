"""Small objects that own something larger, and the native caches that some of them have."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Pools of the standard library: each has workers, with stacks, pipes and memory of their own.
POOLS = (
    r"^multiprocessing\.pool\.(Thread)?Pool$|"
    r"^concurrent\.futures\.\w+\.(Thread|Process)PoolExecutor$"
)

# Standard classes, and endings of class names, whose objects own a descriptor, a thread, a mapping
# or memory of a C library. Their own size does not show how much they keep.
_HANDLES = re.compile(
    r"^(mmap|socket|ssl|sqlite3|subprocess|threading|select|_io|_asyncio|asyncio)\.|"
    r"(Session|Connection|Client|Socket|Pool|Executor|Thread|Process|SharedMemory|Handler|Handle|"
    r"Task|Cursor|File|Mapping|Buffer|Listener|Subscription|Timer|Loop|Figure\w*)$"
)
_MAPPINGS = ("mmap", "memmap", "SharedMemory")


def is_handle(type_name: str | None) -> bool:
    """Return True for a class whose instances own memory or resources that no census counts."""
    return type_name is not None and _HANDLES.search(type_name) is not None


def is_pool(type_name: str | None) -> bool:
    """Return True for a pool of threads or processes."""
    return type_name is not None and re.search(POOLS, type_name) is not None


def is_mapping(type_name: str | None) -> bool:
    """Return True for a class whose instances each own a memory mapping."""
    return type_name is not None and type_name.rpartition(".")[2] in _MAPPINGS


@dataclass(frozen=True, slots=True)
class NativeCache:
    """A cache in C memory that each live instance of a type fills, up to ``bytes``."""

    type: str
    bytes: int
    what: str
    source: str


NATIVE_CACHES = (
    NativeCache(
        "sqlite3.Connection",
        2_000 * 1_024,
        "pages of its database",
        "SQLite's PRAGMA cache_size, -2000 KiB by default",
    ),
)
