"""Clean twins of the functions to which the suite has none: the same made, and let go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any


def twin_of(name: str) -> Callable[[], object]:
    """Return the clean twin of a leak, by the last part of its test's name."""
    return _MAKERS[name]()


def _list_of(size: int) -> Callable[[], object]:
    return lambda: [None] * size


def _tuple_of(size: int) -> Callable[[], object]:
    return lambda: tuple(range(size))


def _int() -> Callable[[], object]:
    return lambda: int("512")


def _dict() -> Callable[[], object]:
    return dict


def _cycle() -> Callable[[], object]:
    def cycle() -> None:
        first: dict[str, Any] = {}
        first["b"] = {"a": first}

    return cycle


def _native_thread() -> Callable[[], object]:
    import test_ext

    return lambda: test_ext.stop_native_thread(test_ext.start_native_thread())


def _thread() -> Callable[[], object]:
    def run() -> None:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

    return run


def _every_other_malloc() -> Callable[[], object]:
    import test_ext

    calls = count()
    return lambda: test_ext.free(test_ext.malloc(40)) if next(calls) % 2 else None


def _same_pages() -> Callable[[], object]:
    import mmap
    from itertools import cycle

    mapped = mmap.mmap(-1, 64 * 1024 * 1024)
    places = cycle(range(0, 100 * mmap.PAGESIZE, mmap.PAGESIZE))

    def touch() -> None:
        mapped[next(places)] = 1

    return touch


_MAKERS: dict[str, Callable[[], Callable[[], object]]] = {
    "test_leak_list_small": lambda: _list_of(1),
    "test_leak_list_big": lambda: _list_of(100),
    "test_leak_long": _int,
    "test_leak_tuple_small": lambda: _tuple_of(1),
    "test_leak_tuple_big": lambda: _tuple_of(100),
    "test_leak_dict": _dict,
    "test_leak_cycle": _cycle,
    "test_c_thread": _native_thread,
    "test_it": _thread,
    "test_malloc_every_other_call": _every_other_malloc,
    "test_touch_pages": _same_pages,
}
