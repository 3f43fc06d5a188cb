"""The limits of memory that this process has, how much of each is used, and when to look again."""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from leakguard.capture.process import memory_groups
from leakguard.model.brink import Ceiling, LimitKind

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+) kB", re.MULTILINE)
_FILES = re.compile(rb"^(?:total_)?(?:in)?active_file (\d+)$", re.MULTILINE)
_HIERARCHICAL = re.compile(rb"^total_(?:in)?active_file (\d+)$", re.MULTILINE)
_STALLED = re.compile(rb"^some avg10=([\d.]+)", re.MULTILINE)
# From this size on, a limit of version 1 is none: the kernel states "no limit" as such a number.
_NO_LIMIT = 1 << 60
# Numbers of /proc/self/statm, in pages: the address space, what is in RAM, and data with the stack.
_SPACE, _RESIDENT, _DATA = 0, 1, 5
# The place of MemAvailable among the numbers of /proc/meminfo.
_THIRD = 2

#: A number that is to be watched: the file, which of its numbers, the bound, and whether it is
#: passed downwards.
Wire = tuple[str, int, int, bool]


@dataclass(frozen=True, slots=True)
class FollowedLimit:
    """A limit, and the number of the kernel by which its use is followed without Python.

    ``unit`` is the bytes that one step of the number stands for; it is negative for a number that
    falls.
    """

    ceiling: Ceiling
    file: str
    which: int
    value: int
    unit: int

    def wire(self, more: int) -> Wire:
        """Return the bound that is passed when ``more`` bytes have been added."""
        return self.file, self.which, self.value + more // self.unit, self.unit < 0


@dataclass(slots=True)
class Ceilings:
    """Reads all limits; ``process`` and ``groups`` are replaced in tests."""

    process: Path = Path("/proc/self")
    machine: Path = Path("/proc/meminfo")
    groups: Callable[[], Iterator[tuple[Path, Path]]] = memory_groups

    def read(self) -> list[FollowedLimit]:
        """Return the limits, the nearest one first; empty where nothing can be read."""
        try:
            pages = [int(word) for word in (self.process / "statm").read_bytes().split()]
        except (OSError, ValueError):
            return []
        found = [*self._of_groups(), *self._of_process(pages), *self._of_machine(pages)]
        return sorted(found, key=lambda watched: -watched.ceiling.share)

    def resident(self, more: int = 0) -> Wire | None:
        """Return the wire that is passed when this process has ``more`` bytes in RAM than now."""
        try:
            pages = int((self.process / "statm").read_bytes().split()[_RESIDENT])
        except (OSError, ValueError, IndexError):
            return None
        return str(self.process / "statm"), _RESIDENT, pages + more // _PAGE, False

    def own_bytes(self) -> int | None:
        """Return the bytes of this process in RAM; None if unknown."""
        own = self.resident()
        return None if own is None else own[2] * _PAGE

    def stalled(self) -> float | None:
        """Return in how much of the last 10 s something waited for memory, in per cent."""
        for file in (*self._pressures(), Path("/proc/pressure/memory")):
            with contextlib.suppress(OSError):
                found = _STALLED.search(file.read_bytes())
                if found is not None:
                    return float(found[1])
        return None

    def _pressures(self) -> Iterator[Path]:
        for limit, _ in self.groups():
            if limit.name == "memory.max":
                yield limit.with_name("memory.pressure")

    def _of_groups(self) -> Iterator[FollowedLimit]:
        done: set[Path] = set()
        for limit, usage in self.groups():
            if limit in done or not limit.exists():
                continue
            done.add(limit)
            used = _number(usage)
            if used is None:
                continue
            kept = max(used - _droppable(limit.with_name("memory.stat")), 0)
            kinds: list[tuple[LimitKind, Path]] = [("cgroup", limit)]
            if limit.name == "memory.max":
                kinds.append(("cgroup high", limit.with_name("memory.high")))
            for kind, file in kinds:
                most = _number(file)
                if most and most < _NO_LIMIT:
                    yield FollowedLimit(Ceiling(kind, kept, most), str(usage), 0, used, 1)

    def _of_process(self, pages: list[int]) -> Iterator[FollowedLimit]:
        file = str(self.process / "statm")
        of_process: list[tuple[LimitKind, str, int]] = [
            ("address space", "RLIMIT_AS", _SPACE),
            ("data", "RLIMIT_DATA", _DATA),
        ]
        for kind, name, which in of_process:
            most = resource.getrlimit(getattr(resource, name))[0]
            if 0 < most < _NO_LIMIT:
                used = pages[which] * _PAGE
                yield FollowedLimit(Ceiling(kind, used, most), file, which, pages[which], _PAGE)

    def _of_machine(self, pages: list[int]) -> Iterator[FollowedLimit]:
        with contextlib.suppress(OSError):
            found = _AVAILABLE.search(self.machine.read_bytes())
            if found is not None:
                left, own = int(found[1]) * 1024, pages[_RESIDENT] * _PAGE
                ceiling = Ceiling("machine", own, own + left)
                yield FollowedLimit(ceiling, str(self.machine), _THIRD, int(found[1]), -1024)


def _number(file: Path) -> int | None:
    """Return the number in a file; None for ``max``, or if it cannot be read."""
    try:
        found = int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None
    return found if found >= 0 else None


def _droppable(stat: Path) -> int:
    """Return the bytes of files in a cgroup, which the kernel drops before it kills."""
    try:
        text = stat.read_bytes()
    except OSError:
        return 0
    return sum(map(int, _HIERARCHICAL.findall(text) or _FILES.findall(text)))
