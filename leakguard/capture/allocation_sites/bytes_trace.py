"""Traces a generation with memray: which lines allocate the bytes that outlive the generation."""

from __future__ import annotations

import shutil
import sys
import tempfile
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from leakguard.capture.allocation_sites.byte_sites import byte_site, in_use, largest
from leakguard.capture.allocation_sites.suspect import Suspect
from leakguard.capture.probe import Unavailable
from leakguard.capture.stack import Frame
from leakguard.errors import install
from leakguard.model import Site

# Most frames of a stack that are read. Chosen, well above 30: in a transformer, an allocation may
# lie some thirty calls below the line of the program that computes the loss.
_FRAMES_OF_BYTES = 64


class BytesTrace:
    """One traced generation; its record lies in a folder that is deleted at the end of the trace.

    Survivors are summed up during the trace, so that the record of a long generation stays small.
    """

    name = "memray"

    def __init__(self, suspects: Sequence[Suspect] = (), *, shallow: bool = False) -> None:
        """Start tracing the C allocator; if a suspect lies in pools, also Python's allocators.

        With Python's allocators, a generation that only makes small objects took 9 times as long
        (15 times under tracemalloc); without them, 1.8 times. A ``shallow`` trace costs the same,
        because memray follows every call.

        Raises:
            Unavailable: memray is not installed, or this process is traced already or has
                greenlets.
        """
        if tracemalloc.is_tracing():
            raise Unavailable("tracemalloc traces this process, and memray would disturb it")
        if "greenlet" in sys.modules:
            raise Unavailable(
                "memray would go on tracing the switches of greenlets when it is over"
            )
        memray = _memray()
        self._folder = Path(tempfile.mkdtemp(prefix="leakguard-"))
        try:
            self._tracker: Any = memray.Tracker(
                self._folder / "allocations.bin",
                trace_python_allocators=any(suspect.in_pools for suspect in suspects),
                follow_fork=False,
                file_format=memray.FileFormat.AGGREGATED_ALLOCATIONS,
            )
            self._tracker.__enter__()
        except RuntimeError as error:  # a tracker of the program's own is running
            self._tracker = None
            self._forget()
            raise Unavailable(f"memray could not start: {error}") from None
        except BaseException:
            self._tracker = None
            self._forget()
            raise

    def survivors(self, suspects: Sequence[Suspect]) -> list[int]:
        """Stop; return an empty list, because bytes have no object whose holder could be found."""
        self._end()
        return []

    def sites(self, held_by: Sequence[str | None]) -> list[Site]:
        """Return the sites with the most surviving bytes."""
        from memray import AllocatorType, FileReader

        pooled = {int(kind) for kind in AllocatorType if kind.name.startswith("PYMALLOC")}
        try:
            reader = FileReader(self._folder / "allocations.bin")
            with closing(reader):
                records = reader.get_leaked_allocation_records(merge_threads=True)
                return largest(_site(record, record.allocator in pooled) for record in records)
        finally:
            self._forget()

    def stop(self) -> None:
        """Stop tracing and delete the record."""
        self._end()
        self._forget()

    def _end(self) -> None:
        if self._tracker is not None:
            tracker, self._tracker = self._tracker, None
            tracker.__exit__(None, None, None)

    def _forget(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _site(record: Any, pooled: bool) -> Site:
    trace = record.stack_trace(max_stacks=_FRAMES_OF_BYTES)
    stack = [Frame(file, line, function) for function, file, line in trace]
    size = in_use(record.size, record.n_allocations, pooled=pooled)
    unknown = [Frame("?", 0, None)]
    return byte_site(stack or unknown, record.n_allocations, size, BytesTrace.name)


def _memray() -> Any:
    if sys.platform == "win32":
        raise Unavailable("memray does not run on Windows")
    try:
        import memray
    except ImportError:
        raise Unavailable(f"memray is not installed; {install('memray')}") from None
    return memray
