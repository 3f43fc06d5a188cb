"""Checks whether a copy of this process is safe, and whether the machine has room for it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from leakguard.capture.probe import Unavailable
from leakguard.capture.process import left_in_groups, memory_groups

_ROLLUP = re.compile(rb"^Anonymous:\s+(\d+) kB$(?s:.)*?^AnonHugePages:\s+(\d+) kB$", re.MULTILINE)
# From this many runnable threads per core on, the machine counts as busy. Chosen, above 1: a
# training whose thread pool uses all cores has 1 runnable thread per core.
_CROWDED = 1.5
_CPU_GROUP = Path("/sys/fs/cgroup/cpu.max")
_VM = Path("/proc/sys/vm")
_FILES = Path("/proc/self/fd")
_STRICT = "2"  # vm.overcommit_memory: no overcommit
# From this kernel version on, the parent process of a fork keeps the pages that a device writes to.
# In an older kernel, the parent may get a copy of a page while the device writes to the original.
_KEEPS_PINNED = (5, 12)
_DEVICES = re.compile(r"/dev/(infiniband|nvidia|kfd|dri|accel|hl|neuron|vfio|xpmem)")


def cores() -> float:
    """Return how many cores this process may use: by its affinity, or its CPU quota if smaller."""
    allowed = float(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else 1.0
    try:
        most, period = _CPU_GROUP.read_text("ascii").split()
    except (OSError, ValueError):
        return allowed
    return allowed if most == "max" else min(allowed, int(most) / int(period))


def is_busy() -> bool:
    """Return whether more threads are runnable than the machine has cores: no core is free then."""
    return os.getloadavg()[0] > _CROWDED * (os.cpu_count() or 1)


def small_page_bytes() -> int:
    """Return the bytes of anonymous memory in small pages; takes some 10 ms for a large process.

    Raises:
        Unavailable: the kernel does not report them.
    """
    try:
        text = Path("/proc/self/smaps_rollup").read_bytes()
    except OSError as error:
        raise Unavailable(f"/proc/self/smaps_rollup: {error.strerror}") from None
    found = _ROLLUP.search(text)
    if found is None:
        raise Unavailable("/proc/self/smaps_rollup does not have the expected fields")
    return (int(found[1]) - int(found[2])) * 1024


def free_memory(pid: int | str = "self") -> int:
    """Return the bytes that a process may still use, up to a limit or the machine's RAM."""
    import psutil

    return min([int(psutil.virtual_memory().available), *left_in_groups(pid)])


def dies_as_one(pid: int | str = "self") -> bool:
    """Return whether the kernel could kill the process because its copy takes too much memory."""
    if _setting(_VM / "oom_kill_allocating_task") not in ("0", ""):
        return True
    groups = (limit.with_name("memory.oom.group") for limit, _ in memory_groups(pid))
    return any(_setting(group) == "1" for group in groups)


def copy_hindrance(files: Path | None = None) -> str | None:
    """Return why copying a process could harm it; None if copying is safe.

    ``files`` is the folder of the process's open files, ``/proc/<pid>/fd``. By default it is the
    folder of this process.
    """
    if _setting(_VM / "overcommit_memory") == _STRICT:
        return "this system does not overcommit memory (vm.overcommit_memory=2)"
    if _kernel() < _KEEPS_PINNED and (device := _device(files or _FILES)) is not None:
        return f"this kernel may separate {device} from the memory that it writes to"
    return None


def _setting(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def _device(files: Path) -> str | None:
    """Return an open device of the process that may write to its memory; None without one."""
    for file in files.iterdir() if files.is_dir() else ():
        try:
            target = str(file.readlink())
        except OSError:  # Closed since.
            continue
        if _DEVICES.match(target):
            return target
    return None
