"""The lines of a log that matter, found without looking at each line of a large file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from leakguard.store.textlog.anchor import Anchor

_CHUNK = 1 << 19
_LONGEST_LINE = 1 << 14
_CONTEXT = 4096

Line = tuple[bytearray, bool]


class Readable(Protocol):
    """Anything bytes can be read from, a pipe or a compressed file included."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` from its start; return how many bytes, 0 at the end."""
        ...


class Source:
    """A log read in chunks into one buffer: memory stays the same however long it is.

    Reading costs as much as a memory map, and unlike one it survives a log that is truncated
    meanwhile, takes pipes, and keeps the file's pages out of the reader's RSS.
    Positions are offsets in the buffer, which holds what comes after the last line yielded.
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
        self._end = 0
        self.size = 0

    def lines(self, busy: Callable[[], bool]) -> Iterator[Line]:
        """Yield (line, whether it came with its line end) around anchors and while ``busy()``."""
        while self._seek():
            line = self._line()
            while line is not None:
                yield line
                if not (self._position <= self._anchor or busy()):
                    break
                line = self._line()

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
        last = max(self._buffer.rfind(b"\n", low, place), self._buffer.rfind(b"\r", low, place))
        return low if last < 0 else last + 1

    def _line(self) -> Line | None:
        while True:
            start = self._position
            limit = min(self._end, start + _LONGEST_LINE)
            newline = self._buffer.find(b"\n", start, limit)
            end = self._buffer.find(b"\r", start, limit if newline < 0 else newline)
            end = newline if end < 0 else end
            if end >= 0:
                self._position = end + 1
                return self._buffer[start:end], True
            if self._end - start >= _LONGEST_LINE or not self._fill():
                rest = self._buffer[start : min(self._end, start + _LONGEST_LINE)]
                self._position += len(rest)
                return (rest, False) if rest else None

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

    _anchor = 0
