"""Memory of the process as the kernel sees it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path, PurePosixPath

from leakguard.capture.probe import Reading, Unavailable

# One pattern for all fields, for speed: every phase boundary reads them. The kernel prints them in
# this order. The fields of the optional group are missing in old kernels.
_STATUS = re.compile(
    rb"VmSize:\s+(\d+) kB\n(?s:.)*?VmHWM:\s+(\d+) kB\nVmRSS:\s+(\d+) kB\n"
    rb"(?:RssAnon:\s+(\d+) kB\nRssFile:\s+(\d+) kB\nRssShmem:\s+(\d+) kB\n)?"
    rb"(?s:.)*?VmSwap:\s+(\d+) kB\n(?s:.)*?Threads:\s+(\d+)\n"
)
_OWN_GROUPS = Path("/proc/self/cgroup")
_NAMES = ("vms", "rss_high_water", "rss", "rss_anonymous", "rss_file", "rss_shared", "swap")


def process_memory(pid: int | str = "self") -> Reading:
    """Read RSS, its parts and its high-water mark, the address space, swap and thread count.

    ``pid`` names another process; the default is this process.
    """
    if not sys.platform.startswith("linux"):
        return _with_psutil(pid)
    # A file object, not a descriptor: an interrupt that comes as it is opened closes it, too.
    with FileIO(f"/proc/{pid}/status") as file:
        text = file.read(8192)
    found = _STATUS.search(text)
    if found is None:
        raise Unavailable(f"/proc/{pid}/status does not have the expected fields")
    *sizes, threads = found.groups()
    kilobytes = zip(_NAMES, sizes, strict=True)
    reading = {name: int(size) * 1024 for name, size in kilobytes if size is not None}
    reading["threads"] = int(threads)
    return reading


def _with_psutil(pid: int | str) -> Reading:
    import psutil

    process = psutil.Process(None if pid == "self" else int(pid))
    memory = process.memory_info()
    return {"rss": memory.rss, "vms": memory.vms, "threads": process.num_threads()}


def memory_limit(pid: int | str = "self") -> int | None:
    """Return the bytes that a process may use: its lowest cgroup limit, or the machine's RAM."""
    try:
        import psutil

        machine = [int(psutil.virtual_memory().total)]
    except Exception:  # a sandbox without /proc, or no descriptor left to read the package
        machine = []
    return min([*machine, *_cgroup_limits(own=_groups_of(pid))], default=None)


def _cgroup_limits(root: Path = Path("/sys/fs/cgroup"), own: Path = _OWN_GROUPS) -> list[int]:
    """Return the limits of this process's memory cgroup and of every group above it."""
    read = (_group_bytes(file) for file in _limit_files(root, own))
    return [limit for limit in read if limit]


def _group_bytes(file: Path) -> int | None:
    """Return the bytes that a cgroup file states; None if it states "max" or does not exist."""
    try:
        found = int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None
    return found if found >= 0 else None


def left_in_groups(pid: int | str = "self") -> Iterator[int]:
    """Yield the bytes left below the limit, for each limited memory cgroup of a process."""
    for limit, used in memory_groups(pid):
        most, taken = _group_bytes(limit), _group_bytes(used)
        if most and taken is not None:
            yield most - taken


def memory_groups(pid: int | str = "self") -> Iterator[tuple[Path, Path]]:
    """Yield the files with the limit and the usage, for each memory cgroup of a process."""
    for limit in _limit_files(Path("/sys/fs/cgroup"), _groups_of(pid)):
        used = "memory.current" if limit.name == "memory.max" else "memory.usage_in_bytes"
        yield limit, limit.with_name(used)


def _groups_of(pid: int | str) -> Path:
    """Return the file that lists the cgroups of a process."""
    return _OWN_GROUPS if pid == "self" else Path(f"/proc/{pid}/cgroup")


def _limit_files(root: Path, own: Path) -> Iterator[Path]:
    try:
        lines = own.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    # Inside a container the listed path is a path of the host, which does not exist in the
    # container. There, the container's own group is the root, so the root is read too.
    for line in ("0::/", "0:memory:/", *lines):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers or "memory" in controllers.split(","):
            base = root / "memory" if controllers else root
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            path = PurePosixPath(group.lstrip("/"))
            yield from (base / above / name for above in (path, *path.parents))
