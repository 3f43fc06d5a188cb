"""Reads what a pod holds beside its processes: files in RAM, and files of shared memory."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from leakguard.capture.process import memory_groups

_MOUNTS, _MEMINFO = Path("/proc/mounts"), Path("/proc/meminfo")
_STAT = re.compile(r"^(?:total_)?(cache|file|shmem) (\d+)$", re.MULTILINE)
_KERNEL_OF = re.compile(r"^(Cached|Shmem): +(\d+) kB$", re.MULTILINE)
# Mounts that hold no data of a program, or a few bytes.
_NO_DATA = re.compile(r"/(dev|run|proc|sys)(/(?!shm)|$)")
SHARED_MEMORY = "/dev/shm"
_PLASMA = "/dev/shm/plasma"
_BLOCK = 512  # bytes, as in stat(2)
_ESCAPED_SPACE = "\\040"


def pod_memory(pid: int | str = "self") -> Mapping[str, int]:
    """Return the bytes in each place of the pod of a process; what cannot be read is missing."""
    found = dict(_tmpfs())
    cached = _cached(pid)
    return found if cached is None else {"page cache": cached, **found}


def plasma_store(pid: int) -> int | None:
    """Return the bytes of Ray's store of objects, of which ``raylet`` keeps the files open."""
    found: dict[tuple[int, int], int] = {}
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - names only
    except OSError:
        return None
    for number in numbers:
        file = f"/proc/{pid}/fd/{number}"
        with contextlib.suppress(OSError):
            if os.readlink(file).startswith(_PLASMA):  # noqa: PTH115 - the file has no name
                told = os.stat(file)  # noqa: PTH116
                found[told.st_dev, told.st_ino] = told.st_blocks * _BLOCK
    return sum(found.values()) if found else None


def _cached(pid: int | str) -> int | None:
    """Return the page cache without shared memory: of the cgroup, or else of the machine."""
    for limit, _ in memory_groups(pid):
        with contextlib.suppress(OSError):
            told = dict(_STAT.findall(limit.with_name("memory.stat").read_text("ascii")))
            # The kernel lists a group's own numbers first, then those with all below it; the
            # latter win. Version 1 says "cache", version 2 says "file".
            cache = told["file"] if "file" in told else told.get("cache", "0")
            return max(int(cache) - int(told.get("shmem", "0")), 0)
    try:
        told = dict(_KERNEL_OF.findall(_MEMINFO.read_text("ascii")))
        return max(int(told["Cached"]) - int(told["Shmem"]), 0) * 1024
    except (OSError, KeyError):
        return None


def _tmpfs() -> Iterator[tuple[str, int]]:
    """Yield the file systems in RAM with the bytes of their files, deleted ones included."""
    try:
        lines = _MOUNTS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    seen: set[int] = set()
    for _, place, kind, *_ in (line.split() for line in lines):
        if kind != "tmpfs" or _NO_DATA.match(place):
            continue
        path = place.replace(_ESCAPED_SPACE, " ")
        with contextlib.suppress(OSError):
            told = os.statvfs(path)
            device = Path(path).stat().st_dev
            if device not in seen:
                used = (told.f_blocks - told.f_bfree) * told.f_frsize
                yield path if path == SHARED_MEMORY else f"tmpfs {path}", used
            seen.add(device)
