"""A log file as a stream of bytes of text: plain, gzipped, or in UTF-16 from PowerShell."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.store.textlog.source import Readable

_GZIP = b"\x1f\x8b"
_SAMPLE = 4096


@contextmanager
def open_log(path: Path) -> Iterator[Readable]:
    """Open a log for reading bytes in UTF-8 or a code page that agrees with it on ASCII.

    Raises:
        UnreadableRun: it is missing, a folder, forbidden, empty or damaged.
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
    """Return whether the start of a file is no text in any encoding."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    if sample.startswith(_GZIP) or _wide_encoding(sample) is not None:
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b\x08" for byte in sample)
    return odd > 0.05 * len(sample)


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 by its mark, or by a zero in nearly every second byte."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(sample) // 2
    if half >= 16 and sample[1::2].count(0) > 0.8 * half and sample[::2].count(0) < 0.2 * half:
        return "utf-16-le"
    return None


class _Unpacked:
    """A gzip file that was cut is read up to the cut."""

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
