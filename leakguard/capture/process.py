"""Memory of the process as the kernel sees it."""

from __future__ import annotations

import os
import sys

from leakguard.capture.probe import Reading, Unavailable

_STATUS_FIELDS = {
    b"VmRSS": "rss",
    b"VmSize": "vms",
    b"RssAnon": "rss_anonymous",
    b"RssFile": "rss_file",
    b"RssShmem": "rss_shared",
    b"VmSwap": "swap",
}


def read_status() -> dict[bytes, bytes]:
    """Return the fields of ``/proc/self/status``; one read gives them all at one moment."""
    descriptor = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(descriptor, 8192)
    finally:
        os.close(descriptor)
    return dict(line.split(b":", 1) for line in text.splitlines() if b":" in line)


def kilobytes(field: bytes) -> int:
    """Return the bytes of a ``status`` field such as ``b"   1024 kB"`` (the kernel means KiB)."""
    return int(field.split()[0]) * 1024


def process_memory() -> Reading:
    """Read RSS and its parts, address space, swap and the number of threads."""
    if not sys.platform.startswith("linux"):
        return _with_psutil()
    status = read_status()
    reading = {
        name: kilobytes(status[key]) for key, name in _STATUS_FIELDS.items() if key in status
    }
    if "rss" not in reading:
        raise Unavailable("/proc/self/status has no VmRSS line")
    if b"Threads" in status:
        reading["threads"] = int(status[b"Threads"])
    return reading


def _with_psutil() -> Reading:
    import psutil

    process = psutil.Process()
    memory = process.memory_info()
    return {"rss": memory.rss, "vms": memory.vms, "threads": process.num_threads()}


def memory_limit() -> int | None:
    """Return the bytes this process may use: the tightest cgroup limit, or the machine's RAM."""
    import psutil

    machine = int(psutil.virtual_memory().total)
    return min([machine, *_cgroup_limits()])


def _cgroup_limits() -> list[int]:
    limits = []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                limits.append(int(file.read()))
        except (OSError, ValueError):  # no such cgroup version, or "max"
            continue
    return limits
