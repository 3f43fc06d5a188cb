"""The lines of a log that matter, found without looking at each line of a large file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from leakguard.store.textlog.anchor import Anchor

_CHUNK = 1 << 18
_LONGEST_LINE = 1 << 14
_CONTEXT = 4096
# About a block: what is read beyond a block is looked at line by line.
_PIECE = 1024

Piece = tuple[bytearray, bool]


class Readable(Protocol):
    """Anything bytes can be read from, a pipe or a compressed file included."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` from its start; return how many bytes, 0 at the end."""
        ...


class Source:
    """A log read in chunks into one buffer: memory stays the same however long it is.

    Reading costs as much as a memory map, and unlike one it survives a log that is truncated
    meanwhile, takes pipes, and keeps the file's pages out of the reader's RSS.
    Positions are offsets in the buffer, which holds what comes after the last piece yielded.
    """

    def __init__(
        self, file: Readable, anchors: Sequence[Anchor], leads: Sequence[bytes] = ()
    ) -> None:
        """Read ``file``; each line that holds one of ``anchors`` will be among the lines.

        So will be the lines from the first of ``leads`` on, within 4 kB before the anchor.
        """
        self._file = file
        self._anchors = anchors
        self._leads = leads
        self._buffer = bytearray(_CHUNK + _CONTEXT + 2 * _LONGEST_LINE)
        self._position = 0
        self._anchor = 0
        self._end = 0
        self.size = 0

    def pieces(self, busy: Callable[[], bool]) -> Iterator[Piece]:
        """Yield (lines, whether the last one is whole) around anchors and while ``busy()``.

        A piece has no line end behind its last line.
        """
        while self._seek():
            piece = self._piece(self._anchor)
            while piece is not None:
                yield piece
                piece = self._piece(self._position) if busy() else None

    def _seek(self) -> bool:
        """Go to the lines just before the next anchor; False when there is none."""
        while True:
            found = [a.find(self._buffer, self._position, self._end) for a in self._anchors]
            nearest = min((at for at in found if at is not None), default=None)
            if nearest is not None:
                self._anchor = nearest
                self._position = self._line_start(self._lead_of(nearest))
                return True
            self._position = max(self._position, self._end - _CONTEXT - _LONGEST_LINE)
            if not self._fill():
                return False

    def _lead_of(self, anchor: int) -> int:
        low = max(self._position, anchor - _CONTEXT)
        found = (self._buffer.find(lead, low, anchor) for lead in self._leads)
        return min((at for at in found if at >= 0), default=anchor)

    def _line_start(self, place: int) -> int:
        """Return where the line of ``place`` begins; a long line is taken from its middle on."""
        low = max(self._position, place - _LONGEST_LINE + 1)
        last = self._last_line_end(low, place)
        return low if last < 0 else last + 1

    def _piece(self, least: int) -> Piece | None:
        """Take whole lines, at least the one that ``least`` is in, as far as it is not too long."""
        length = least - self._position + _LONGEST_LINE
        while self._end - self._position < length and self._fill():
            pass
        start, limit = self._position, min(self._end, self._position + length)
        least = start + length - _LONGEST_LINE
        end = self._last_line_end(least, min(limit, least + _PIECE))
        if end < 0:
            end = self._next_line_end(least, limit)
        if end >= 0:
            self._position = end + 1
            return self._buffer[start:end], True
        self._position = limit
        return (self._buffer[start:limit], False) if limit > start else None

    def _last_line_end(self, low: int, high: int) -> int:
        return max(self._buffer.rfind(b"\n", low, high), self._buffer.rfind(b"\r", low, high))

    def _next_line_end(self, low: int, high: int) -> int:
        newline = self._buffer.find(b"\n", low, high)
        end = self._buffer.find(b"\r", low, high if newline < 0 else newline)
        return newline if end < 0 else end

    def _fill(self) -> bool:
        """Forget what lies before the position and read on; False at the end of the file."""
        kept = self._end - self._position
        self._buffer[:kept] = self._buffer[self._position : self._end]
        self._anchor -= self._position
        for anchor in self._anchors:
            anchor.shift(self._position)
        self._position = 0
        with memoryview(self._buffer) as view:
            count = self._file.readinto(view[kept:]) or 0
        self._end = kept + count
        self.size += count
        return count > 0
