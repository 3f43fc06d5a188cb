"""The local variables of running frames, which the garbage collector does not show.

Up to Python 3.12, reading ``frame.f_locals`` fills a dict that stays with the frame and keeps every
local alive after its ``del``. So the compiled scan reads locals directly from the frame. Without
the scan, the dict is filled and then emptied again. It is not emptied if the program also holds it
(after calling ``locals()``), or if a trace function may write its contents back into the frame.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from leakguard.capture.library import OWN_PACKAGE

try:
    from leakguard.capture.heap import _scan
except ImportError:  # not built here
    _locals_of: Callable[[FrameType], dict[str, object]] | None = None
else:
    _locals_of = _scan.locals_of if getattr(_scan, "READS_LOCALS", 0) else None

_OPTIMIZED = 0x1  # CO_OPTIMIZED: locals live in slots, not in a namespace of their own
_RETAINS = sys.version_info < (3, 13)


def running_frames() -> Iterator[tuple[int, FrameType]]:
    """Yield (thread id, frame) for the stacks of all threads, innermost first.

    The guard's own frames are left out.
    """
    tops = sys._current_frames()
    try:
        for thread in tuple(tops):
            frame: FrameType | None = tops.pop(thread)
            while frame is not None:
                if not is_ours(frame):
                    yield thread, frame
                frame = frame.f_back
    finally:
        tops.clear()  # it contains this generator's own frame, which would hold itself


def other_threads_run() -> bool:
    """Return whether other threads than this one run Python code; the guard's own do not count."""
    tops = sys._current_frames()
    try:
        tops.pop(threading.get_ident(), None)
        return not all(map(_is_of_our_thread, tops.values()))
    finally:
        tops.clear()


def _is_of_our_thread(frame: FrameType) -> bool:
    """Return whether the thread that runs a frame began in this package."""
    while frame.f_back is not None:
        frame = frame.f_back
    return is_ours(frame)


def local_variables(frame: FrameType) -> dict[str, object]:
    """Return a copy of a frame's locals by name, without leaving anything in the frame.

    For the bodies of modules and classes the result is empty, because their names lie in a
    namespace that the walk reaches otherwise.
    """
    if not frame.f_code.co_flags & _OPTIMIZED:
        return {}
    if _locals_of is not None:
        return _locals_of(frame)
    kept = frame.f_locals
    found = dict(kept)
    if _RETAINS and type(kept) is dict and _may_empty(frame, kept):
        kept.clear()
    return found


def function_name(frame: FrameType) -> str:
    """Return the qualified name of the function a frame runs."""
    code = frame.f_code
    return getattr(code, "co_qualname", code.co_name)


def _may_empty(frame: FrameType, kept: dict[str, object]) -> bool:
    traced = sys.gettrace() is not None or frame.f_trace is not None
    if traced or getattr(threading, "_trace_hook", None) is not None:
        return False
    return _references(kept) <= _UNSHARED


def is_ours(frame: FrameType) -> bool:
    """Return whether a function of this package runs in the frame."""
    return _package(frame) == OWN_PACKAGE


def is_standard(frame: FrameType) -> bool:
    """Return whether a function of the standard library runs in the frame."""
    return _package(frame) in sys.stdlib_module_names


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if type(name) is str else ""


def _references(kept: dict[str, object]) -> int:
    return sys.getrefcount(kept)


def _unshared() -> int:
    """Return the reference count of a locals dict that only its frame and its reader hold."""

    def reader(kept: dict[str, object]) -> int:
        return _references(kept)

    kept = sys._getframe().f_locals
    return reader(kept)


_UNSHARED = _unshared()
