"""Memory of the process as the kernel sees it."""

from __future__ import annotations

import os
import re
import sys

from leakguard.capture.probe import Reading, Unavailable

# One pattern for all fields: the kernel prints them in this order, and the read is on the way of
# every phase. A field that a kernel lacks ends the match there.
_STATUS = re.compile(
    rb"VmSize:\s+(\d+) kB\n(?s:.)*?VmHWM:\s+(\d+) kB\nVmRSS:\s+(\d+) kB\n"
    rb"(?:RssAnon:\s+(\d+) kB\nRssFile:\s+(\d+) kB\nRssShmem:\s+(\d+) kB\n)?"
    rb"(?s:.)*?VmSwap:\s+(\d+) kB\n(?s:.)*?Threads:\s+(\d+)\n"
)
_NAMES = ("vms", "rss_high_water", "rss", "rss_anonymous", "rss_file", "rss_shared", "swap")


def process_memory() -> Reading:
    """Read RSS and its parts, its high-water mark, address space, swap and threads."""
    if not sys.platform.startswith("linux"):
        return _with_psutil()
    descriptor = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(descriptor, 8192)
    finally:
        os.close(descriptor)
    found = _STATUS.search(text)
    if found is None:
        raise Unavailable("/proc/self/status does not have the expected fields")
    *sizes, threads = found.groups()
    kilobytes = zip(_NAMES, sizes, strict=True)
    reading = {name: int(size) * 1024 for name, size in kilobytes if size is not None}
    reading["threads"] = int(threads)
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
