"""Finds the lines of a log that matter, without examining each line of a large file."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from leakguard.errors import UnreadableRun
from leakguard.store.textlog.anchors import Anchors

_GZIP = b"\x1f\x8b"
_SAMPLE = 4096


@contextmanager
def open_log(path: Path) -> Iterator[Readable]:
    """Open a log for reading bytes, in UTF-8 or in a code page that equals it for ASCII.

    Raises:
        UnreadableRun: the path is missing, a folder, forbidden, empty or damaged.
    """
    try:
        with path.open("rb") as file:
            sample = file.peek(_SAMPLE)[:_SAMPLE]
            if not sample:
                raise UnreadableRun(f"{path} is empty; was the trainer's output written to it?")
            if sample.startswith(_GZIP):
                with gzip.open(file) as unpacked:
                    yield _Unpacked(unpacked)
            elif (encoding := _wide_encoding(sample)) is not None:
                yield _Transcoded(file, encoding)
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        raise UnreadableRun(f"cannot read {path}: {reason}") from None


def looks_binary(path: Path) -> bool:
    """Return whether the start of a file is not text in any known encoding."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    if sample.startswith(_GZIP) or _wide_encoding(sample) is not None:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b\x08" for byte in sample)
    return odd > 0.05 * len(sample)


def _wide_encoding(sample: bytes) -> str | None:
    """Recognize UTF-16 by its byte order mark, or by a zero in nearly every second byte."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(sample) // 2
    if half >= 16 and sample[1::2].count(0) > 0.8 * half and sample[::2].count(0) < 0.2 * half:
        return "utf-16-le"
    return None


class _Unpacked:
    """Decompresses a gzip file; a truncated file is read up to its end."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._got_some = False

    def readinto(self, buffer: memoryview, /) -> int:
        try:
            count = self._file.readinto(buffer) or 0
        except (EOFError, OSError, zlib.error):
            if not self._got_some:
                raise
            return 0
        self._got_some = True
        return count


class _Transcoded:
    def __init__(self, file: Readable, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._rest = b""

    def readinto(self, buffer: memoryview, /) -> int:
        wide = bytearray(len(buffer) // 2)
        while not self._rest:
            count = self._file.readinto(memoryview(wide)) or 0
            text = self._decoder.decode(bytes(wide[:count]), final=not count)
            self._rest = text.encode("utf-8", "replace")
            if not count:
                break
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


_WINDOW = 1 << 18
_LONGEST_LINE = 1 << 14
_CONTEXT = 4096
# Bytes to read after the heading of a block: about the size of a block, because what is read beyond
# a block is examined line by line. If lines of interest follow one another directly, ever more
# bytes are read at once, up to ``_MOST_AHEAD``.
_READ_AHEAD, _MOST_AHEAD = 1024, 1 << 14

Piece = tuple[bytearray, bool]


class Readable(Protocol):
    """Anything that bytes can be read from, including a pipe or a compressed file."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` from its start; return the number of bytes, 0 at the end of the file."""
        ...


class LogSource:
    """A log read in chunks into one buffer: its memory does not grow with the length of the log.

    Reading costs as much as a memory map. Unlike a map, it survives a log that is truncated
    meanwhile, accepts pipes, and keeps the pages of the file out of the reader's RSS. Positions are
    offsets in the buffer, which holds what follows the last piece yielded.
    """

    def __init__(self, file: Readable, anchors: Anchors, blocks: bytes, leads: Anchors) -> None:
        """Read from ``file`` every line that contains one of ``anchors``.

        Also keep the lines before an anchor, starting at the first of ``leads`` within 4 kB, and
        the lines after an anchor that begins with ``blocks``.
        """
        self._file = file
        self._blocks = blocks
        self._leads = leads
        self._buffer = bytearray(_WINDOW + _CONTEXT + 2 * _LONGEST_LINE)
        # A line end is put before the first line of the log, too: anchors may begin with one.
        self._buffer[:1] = b"\n"
        self._position = self._anchor = self._searched = self._ahead = 0
        self._end = 1
        self.anchors = anchors
        self.size = 0

    def pieces(self, busy: Callable[[], bool]) -> Iterator[Piece]:
        """Yield (lines, whether the last one is complete) around anchors and while ``busy()``.

        A piece has no line end after its last line. A second call continues with what was added to
        the file meanwhile.
        """
        while busy() and (piece := self._piece(self._position, _READ_AHEAD)) is not None:
            yield piece
        while self._seek():
            piece = self._piece(self._anchor, self._ahead)
            while piece is not None:
                yield piece
                piece = self._piece(self._position, _READ_AHEAD) if busy() else None

    def _seek(self) -> bool:
        """Move to the lines just before the next anchor; False if there is no anchor."""
        while True:
            begin = max(self._position, self._searched)
            found = self.anchors.find(self._buffer, begin, self._end)
            if found >= 0:
                self._go_to(found)
                return True
            self._searched = max(begin, self._end - self.anchors.longest + 1)
            self._position = max(self._position, self._end - _CONTEXT - _LONGEST_LINE)
            if not self._fill():
                return False

    def _go_to(self, found: int) -> None:
        before = self._position
        self._anchor = found + self._buffer.startswith(b"\n", found)
        self._searched = found
        self._position = self._line_start(self._lead_of(self._anchor))
        if self._buffer.startswith(self._blocks, found):
            self._ahead = _READ_AHEAD
        elif self._position == before:
            self._ahead = min(2 * self._ahead + 256, _MOST_AHEAD)
        else:
            self._ahead = 0

    def _lead_of(self, anchor: int) -> int:
        low = max(self._position, anchor - _CONTEXT)
        found = self._leads.find(self._buffer, low, anchor)
        return anchor if found < 0 else found

    def _line_start(self, place: int) -> int:
        """Return where the line of ``place`` begins; of a long line, the beginning is left out."""
        low = max(self._position, place - _LONGEST_LINE + 1)
        last = self._last_line_end(low, place)
        return low if last < 0 else last + 1

    def _piece(self, least: int, ahead: int) -> Piece | None:
        """Take whole lines up to the end of the line that contains ``least``.

        The piece may extend up to ``ahead`` bytes further. A line that is too long is cut.
        """
        length = least - self._position + _LONGEST_LINE
        while self._end - self._position < length and self._fill():
            pass
        start, limit = self._position, min(self._end, self._position + length)
        least = start + length - _LONGEST_LINE
        end = self._last_line_end(least, min(limit, least + ahead)) if ahead else -1
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
        """Discard the buffer before the position and read on; False at the end of the file."""
        kept = self._end - self._position
        self._buffer[:kept] = self._buffer[self._position : self._end]
        self._anchor -= self._position
        self._searched = max(0, self._searched - self._position)
        self._position = 0
        with memoryview(self._buffer) as view:
            count = self._file.readinto(view[kept:]) or 0
        self._end = kept + count
        self.size += count
        return count > 0
