"""Where a run goes besides its file: the log (a stream, a logger, a function) and dashboards."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from collections.abc import Callable, Iterable
from typing import Protocol, TextIO

from leakguard.alarm import pass_on
from leakguard.capture.heap.text_buffers import leave_out
from leakguard.capture.probe import reason_of
from leakguard.errors import UsageError
from leakguard.live.safety import Safety
from leakguard.model import Report, Snapshot
from leakguard.model.vitals import Vitals, vitals_of
from leakguard.render.text import columns, wrapped

Log = TextIO | logging.Logger | Callable[[str], object]


def log_sink(log: Log | None) -> Callable[[str], object] | None:
    """Return a function that writes one block to ``log``.

    Raises:
        UsageError: ``log`` is not a stream, a logger or a function.
    """
    if log is None:
        return None
    if isinstance(log, logging.Logger):
        return lambda block: log.info("\n%s", block)
    if callable(log):
        return log
    if hasattr(log, "write"):
        leave_out(log)
        return functools.partial(write_block, log)
    raise UsageError(f"log= takes a stream, a logger or a function, not {type(log).__name__}")


def write_block(stream: TextIO, block: str) -> None:
    """Write a block; pictographs that the stream cannot encode are replaced."""
    try:
        stream.write(block + "\n")
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(block.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def complain(text: str) -> None:
    """Print a line on standard error, if there is one, wrapped as the reports are."""
    if sys.stderr is not None:  # print() would fall back to standard output
        with contextlib.suppress(OSError, ValueError, AttributeError):
            print(*wrapped(f"leakguard: {text}", columns()), sep="\n", file=sys.stderr)


class Sink(Protocol):
    """Receives the numbers of each generation, and the verdict at the end of the run."""

    def write(self, vitals: Vitals) -> object:
        """Receive the numbers of a generation that ended."""

    def finish(self, report: Report) -> object:
        """Receive the verdict; nothing is written afterwards."""


class Sinks:
    """Writes to all sinks of a guard. A sink that raises is noted, and is used again next time."""

    def __init__(self, sinks: Iterable[Sink], safety: Safety) -> None:
        """Write to ``sinks``, in their order."""
        self._sinks = tuple(sinks)
        self._safety = safety

    def write(self, snapshot: Snapshot) -> None:
        """Write the numbers of a generation; do nothing at other moments."""
        vitals = vitals_of(snapshot) if self._sinks else None
        if vitals is None:
            return
        for sink in self._sinks:
            try:
                sink.write(vitals)
            except Exception as error:
                pass_on(error)
                self._safety.note(_sink_name(sink), error)

    def finish(self, report: Callable[[], Report]) -> None:
        """Give the verdict to all sinks; failures are printed on standard error."""
        for sink in self._sinks:
            try:
                sink.finish(report())
            except Exception as error:
                pass_on(error)
                complain(f"{_sink_name(sink)} got no verdict: {reason_of(error)}")


def checked_sinks(sinks: object) -> tuple[Sink, ...]:
    """Return the sinks of a guard.

    Raises:
        UsageError: an object is not a sink.
    """
    try:
        listed = tuple(sinks) if isinstance(sinks, Iterable) else (sinks,)
    except Exception:  # raised by the caller's own class
        listed = (sinks,)
    for sink in listed:
        if isinstance(sink, type) or not (hasattr(sink, "write") and hasattr(sink, "finish")):
            name = sink.__name__ if isinstance(sink, type) else type(sink).__name__
            raise UsageError(
                f"sinks= takes objects with write(vitals) and finish(report), not {name}; "
                "leakguard.integrations.sinks has some"
            )
    return listed


def _sink_name(sink: Sink) -> str:
    return f"sink {type(sink).__name__}"
