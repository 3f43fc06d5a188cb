"""The memory of another process: lists its mappings, and reads and writes its bytes."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from leakguard.errors import UsageError

_PAGE = os.sysconf("SC_PAGE_SIZE")
# The fields that are read of a 64-bit ELF header: e_type, e_phoff, e_phentsize, e_phnum; elf(5).
_ELF = struct.Struct("<16xH2x4x8xQ8x4x2xHH")
# The fields that are read of a program header: p_type, p_flags, p_vaddr, p_memsz; elf(5).
_SEGMENT = struct.Struct("<II8xQ8x8xQ8x")
# Values of these fields: the first bytes of a 64-bit little-endian file, PT_LOAD, PF_W and ET_DYN.
_MAGIC, _LOADED, _WRITABLE, _POSITION_INDEPENDENT = b"\x7fELF\x02\x01", 1, 2, 3


@dataclass(frozen=True, slots=True)
class Mapping:
    """One line of ``/proc/PID/maps``; ``file`` is device and inode, or None without a file."""

    start: int
    end: int
    access: str
    offset: int
    file: tuple[str, int] | None
    path: str

    @property
    def is_writable(self) -> bool:
        """Whether the process may write to the mapping, without another process seeing it."""
        return self.access.startswith("rw") and self.access.endswith("p")


def mappings(pid: int) -> list[Mapping]:
    """Return what is mapped in a process.

    Raises:
        OSError: there is no such process, or this user may not read its mappings.
    """
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
        return [_mapping(line) for line in file]


def _mapping(line: str) -> Mapping:
    place, access, offset, device, inode, *path = line.rstrip("\n").split(maxsplit=5)
    start, _, end = place.partition("-")
    file = (device, int(inode)) if int(inode) else None
    return Mapping(int(start, 16), int(end, 16), access, int(offset, 16), file, "".join(path))


class ForeignMemory:
    """Reads and writes the memory of a process by ``/proc/PID/mem``; use it in a ``with``."""

    def __init__(self, pid: int) -> None:
        """Open the memory.

        Raises:
            UsageError: this user may not open it.
        """
        try:
            self._file = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(
                f"the memory of process {pid} cannot be opened: {error.strerror}"
            ) from None

    def __enter__(self) -> ForeignMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def read(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes from ``address``.

        Raises:
            OSError: not all of these bytes are mapped.
        """
        found = os.pread(self._file, size, address)
        if len(found) != size:
            raise OSError(0, "the memory ends there")
        return found

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` to ``address``; the process never sees half of a 4- or 8-byte number."""
        if os.pwrite(self._file, data, address) != len(data):
            raise OSError(0, "it was not written whole")

    def int32(self, address: int) -> int:
        """Return the signed number of 4 bytes at ``address``."""
        return int.from_bytes(self.read(address, 4), "little", signed=True)

    def word(self, address: int) -> int:
        """Return the number of 8 bytes at ``address``, such as a pointer."""
        return int.from_bytes(self.read(address, 8), "little")

    def write_int32(self, address: int, number: int) -> None:
        """Write a signed number of 4 bytes to ``address``."""
        self.write(address, number.to_bytes(4, "little", signed=True))

    def write_word(self, address: int, number: int) -> None:
        """Write a number of 8 bytes to ``address``."""
        self.write(address, number.to_bytes(8, "little"))


def unused_room(memory: ForeignMemory, mapped: list[Mapping], size: int) -> int | None:
    """Return the address of ``size`` unused bytes after the data of a loaded file; None without.

    The data of an executable or library seldom end at the end of a page. The rest of the page is
    mapped, writable and zero, and no code uses it. Only the dynamic linker uses the rest of its own
    pages, so its file is left out.
    """
    for mapping in mapped:
        if mapping.file is None or mapping.offset or "/ld-" in mapping.path:
            continue
        for end in _ends_of_data(memory, mapping.start):
            start, stop = -(-end // 16) * 16, -(-end // _PAGE) * _PAGE
            if stop - start >= size and _is_blank(memory, mapped, start, stop):
                return start
    return None


def _ends_of_data(memory: ForeignMemory, base: int) -> Iterator[int]:
    """Yield the end addresses of the writable segments of the file that is mapped at ``base``."""
    try:
        head = memory.read(base, _ELF.size)
        if head[: len(_MAGIC)] != _MAGIC:
            return
        kind, table, width, count = _ELF.unpack(head)
        shift = base if kind == _POSITION_INDEPENDENT else 0
        for index in range(count):
            raw = memory.read(base + table + index * width, _SEGMENT.size)
            what, access, address, length = _SEGMENT.unpack(raw)
            if what == _LOADED and access & _WRITABLE:
                yield shift + address + length
    except OSError:
        return


def _is_blank(memory: ForeignMemory, mapped: list[Mapping], start: int, stop: int) -> bool:
    if not any(m.is_writable and m.start <= start and stop <= m.end for m in mapped):
        return False
    return not any(memory.read(start, stop - start))
