"""The lines of a log that matter, found without looking at each line of a large file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

_CHUNK = 1 << 19
_LONGEST_LINE = 1 << 14
_CONTEXT = 4096
_LINE_END = re.compile(rb"[\r\n]")

Line = tuple[bytes, bool]


class Readable(Protocol):
    """Anything bytes can be read from, a pipe or a compressed file included."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""
        ...


class Source:
    """A log read in bounded chunks: memory stays the same however long it is.

    Reading costs as much as a memory map, and unlike one it survives a log that is truncated
    meanwhile, takes pipes, and keeps the file's pages out of the reader's RSS.
    All positions are offsets in the file.
    """

    def __init__(
        self, file: Readable, anchors: Sequence[bytes], lead: re.Pattern[bytes] | None = None
    ) -> None:
        """Read ``file``; each line that holds one of ``anchors`` will be among the lines.

        So will be the lines from the first match of ``lead`` on, within 4 kB before the anchor.
        """
        self._file = file
        self._anchors = [_Anchor(anchor) for anchor in anchors]
        self._buffer = b""
        self._start = 0
        self._position = 0
        self._lead = lead
        self.size = 0

    def lines(self, busy: Callable[[], bool]) -> Iterator[Line]:
        """Yield (line, whether it came with its line end) around anchors and while ``busy()``."""
        while (anchor := self._seek()) is not None:
            while self._position <= anchor or busy():
                line = self._line()
                if line is None:
                    return
                yield line

    def _seek(self) -> int | None:
        """Go to the lines just before the next anchor; return where the anchor is."""
        while True:
            found = [
                anchor.find(self._buffer, self._start, self._position) for anchor in self._anchors
            ]
            nearest = min((at for at in found if at is not None), default=None)
            if nearest is not None:
                self._position = self._line_start(self._lead_of(nearest))
                return nearest
            end = self._start + len(self._buffer)
            self._position = max(self._position, end - _CONTEXT - _LONGEST_LINE)
            if not self._fill():
                return None

    def _lead_of(self, anchor: int) -> int:
        if self._lead is None:
            return anchor
        low = max(self._position, anchor - _CONTEXT) - self._start
        match = self._lead.search(self._buffer, low, anchor - self._start)
        return anchor if match is None else match.start() + self._start

    def _line_start(self, place: int) -> int:
        """Return where the line of ``place`` begins; a long line is taken from its middle on."""
        low = max(self._position, place - _LONGEST_LINE + 1) - self._start
        high = place - self._start
        last = max(self._buffer.rfind(b"\n", low, high), self._buffer.rfind(b"\r", low, high))
        return (low if last < 0 else last + 1) + self._start

    def _line(self) -> Line | None:
        while True:
            offset = self._position - self._start
            end = _LINE_END.search(self._buffer, offset, offset + _LONGEST_LINE)
            if end is not None:
                self._position = self._start + end.end()
                return self._buffer[offset : end.start()], True
            if len(self._buffer) - offset >= _LONGEST_LINE or not self._fill():
                rest = self._buffer[offset : offset + _LONGEST_LINE]
                self._position += len(rest)
                return (rest, False) if rest else None

    def _fill(self) -> bool:
        """Forget what lies before the position and read on; False at the end of the file."""
        chunk = self._file.read(_CHUNK)
        self._buffer = self._buffer[self._position - self._start :] + chunk
        self._start = self._position
        self.size += len(chunk)
        return bool(chunk)


class _Anchor:
    """A byte string to look for; remembers what is searched and what was found."""

    def __init__(self, text: bytes) -> None:
        # A pattern that is one literal is found with memchr, faster than bytes.find.
        self._find = re.compile(re.escape(text)).search
        self._margin = len(text) - 1
        self._searched = 0
        self._found: int | None = None

    def find(self, buffer: bytes, start: int, position: int) -> int | None:
        """Return the first place at or after ``position``; ``buffer`` begins at ``start``."""
        if self._found is not None and self._found >= position:
            return self._found
        begin = max(position, self._searched)
        match = self._find(buffer, begin - start)
        self._found = None if match is None else match.start() + start
        self._searched = max(begin, start + len(buffer) - self._margin) if match is None else begin
        return self._found
