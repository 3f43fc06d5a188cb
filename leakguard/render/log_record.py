"""What ``leakguard report`` reads in a guard's log: lines of the run file, packed as text.

The lines above are rounded for people, who skip these. A block ends with its snapshot, and the log
of a run with what ended the run.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator

_TITLE, _LINE_TITLE = "📼 Record for leakguard report:", "📼 MEMORY RECORD:"
# Characters of a row. Chosen: log readers and container runtimes cut much longer lines, and the
# record of a quiet generation fits into one row.
_ROW = 1900


def record_section(lines: bytes) -> Iterator[str]:
    """Yield the section that holds lines of the run file; nothing if there are none."""
    if not lines:
        return
    text = _packed(lines)
    yield _TITLE
    yield from (f"   {text[at : at + _ROW]}" for at in range(0, len(text), _ROW))


def record_line(lines: bytes) -> str:
    """Return the line of its own that holds lines of the run file."""
    return f"{_LINE_TITLE} {_packed(lines)}"


def _packed(lines: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(lines)).decode().rstrip("=")
