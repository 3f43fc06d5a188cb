"""Where the log blocks go: a text stream, a logger, or any function that takes a string."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import TextIO

from leakguard.errors import UsageError

Log = TextIO | logging.Logger | Callable[[str], object]


def log_sink(log: Log | None) -> Callable[[str], object] | None:
    """Return a function that writes one block to ``log``.

    Raises:
        UsageError: ``log`` is none of the three.
    """
    if log is None:
        return None
    if isinstance(log, logging.Logger):
        return lambda block: log.info("\n%s", block)
    if callable(log):
        return log
    if hasattr(log, "write"):
        return functools.partial(_write, log)
    raise UsageError(f"log= takes a stream, a logger or a function, not {type(log).__name__}")


def _write(stream: TextIO, block: str) -> None:
    """Write a block; a stream that cannot encode the pictographs gets them replaced."""
    try:
        stream.write(block + "\n")
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(block.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()
