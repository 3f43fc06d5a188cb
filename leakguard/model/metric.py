"""The metrics that a snapshot may hold, each with its meaning and what it does not include."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["bytes", "count"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the process, known by ``name`` in every snapshot, log and report.

    A derived metric is computed and never stored in a snapshot: it is the sum of ``parts``, which
    maps other metrics to their signs. ``less`` names a metric that is subtracted if it is known.
    ``least`` is the lowest meaningful value of a difference: memory that was allocated and never
    touched may make the difference smaller, and ``least`` is returned instead.
    """

    name: str
    unit: Unit
    title: str
    meaning: str
    parts: Mapping[str, int] = field(default_factory=dict)
    less: str | None = None
    least: int | None = None

    @property
    def needs(self) -> Set[str]:
        """The metrics that a snapshot must hold for this one to be known."""
        return self.parts.keys() or {self.name}

    @property
    def words(self) -> str:
        """The title, spelled for use within a sentence."""
        is_name = self.title[:2].isupper() or self.title.startswith("Python")
        return self.title if is_name else self.title[0].lower() + self.title[1:]

    def read(self, values: Mapping[str, int | float]) -> int | float | None:
        """Return this metric's value, or its change if ``values`` are changes; None if unknown."""
        if not self.parts:
            return values.get(self.name)
        if not self.parts.keys() <= values.keys():
            return None
        less = values.get(self.less, 0) if self.less is not None else 0
        whole = sum(sign * values[name] for name, sign in self.parts.items()) - less
        return whole if self.least is None else max(whole, self.least)


_ALL = (
    Metric("rss", "bytes", "RSS (actual RAM)",
           "Pages in RAM, shared and file-backed ones included. An allocator may hold freed "
           "memory, so it is not the size of what lives."),
    Metric("vms", "bytes", "VMS (virtual)",
           "Address space reserved; it costs no RAM until it is touched."),
    Metric("rss_anonymous", "bytes", "Anonymous RSS",
           "Pages in RAM that no file backs: heap, arenas, stacks. Mapped files are not in it."),
    Metric("rss_file", "bytes", "File-backed RSS",
           "Mapped file pages in RAM; the kernel can drop them."),
    Metric("rss_shared", "bytes", "Shared RSS",
           "Shared memory pages in RAM, for example tensors handed to workers."),
    Metric("private", "bytes", "Private memory",
           "Pages in RAM that no other process has. A page that a forked worker shares with its "
           "parent becomes private when either of them writes to it, and counting a reference is "
           "writing."),
    Metric("pss", "bytes", "Proportional memory (PSS)",
           "Private pages, and of each shared page this process's share: the sum over processes "
           "counts every page once."),
    Metric("swap", "bytes", "Swap", "Anonymous pages that were moved out of RAM."),
    Metric("peak", "bytes", "Peak (this phase)",
           "Highest RSS between the start and the end of the phase, inner phases included."),
    Metric("rss_high_water", "bytes", "High-water mark",
           "Highest RSS since the mark was last reset, which happens when a phase begins."),
    Metric("heap_in_use", "bytes", "Allocator in use",
           "Bytes the C allocator has handed out and not got back. Arenas of Python's own "
           "allocator are not all in it: CPython maps them itself."),
    Metric("heap_held", "bytes", "Allocator held free",
           "Freed bytes the C allocator keeps: they count in RSS and are no leak."),
    Metric("python_blocks", "count", "Python memory blocks",
           "Blocks in use in Python's own allocator for small objects."),
    Metric("python_in_use", "bytes", "Python's pools in use",
           "Blocks in use in Python's own allocator for small objects."),
    Metric("python_held", "bytes", "Python's pools held free",
           "Mapped by Python's own allocator for small objects and not in use: it counts in RSS "
           "and is no leak."),
    Metric("gc_pending", "count", "Objects since collection",
           "Tracked objects made minus freed since the youngest collection."),
    Metric("gc_full_collections", "count", "Full collections",
           "Collections of the oldest generation so far."),
    Metric("gc_collected", "count", "Objects freed in cycles",
           "Objects that collections have found in cycles and freed so far."),
    Metric("gc_uncollectable", "count", "Uncollectable objects", "Objects in gc.garbage."),
    Metric("gc_frozen", "count", "Frozen objects",
           "Objects that gc.freeze() took out of the collector's sight."),
    Metric("gc_enabled", "count", "Automatic collection",
           "1 when automatic collection is on, 0 when the program switched it off."),
    Metric("threads", "count", "Threads", "Threads of the process, native ones included."),
    Metric("open_files", "count", "Open files", "File descriptors; sockets and pipes are in it."),
    Metric("children", "count", "Child processes", "Direct children that are alive."),
    Metric("gpu_allocated", "bytes", "GPU allocated", "Live tensors on all CUDA devices."),
    Metric("gpu_reserved", "bytes", "GPU reserved",
           "What torch's caching allocator holds on all CUDA devices, free blocks included."),
    Metric("gpu_used", "bytes", "GPU memory in use",
           "GPU memory of all processes, as the driver reports it: contexts and the free blocks "
           "of caching allocators included."),
    Metric("live_memory", "bytes", "Live memory",
           "Bytes that the C allocator and Python's own have handed out and not got back, without "
           "the guard's record of the run. Mappings of native code are not included.",
           {"heap_in_use": 1, "python_in_use": 1}, "own_memory"),
    Metric("own_memory", "bytes", "Guard's own history",
           "The guard's record of the run so far, in this process, and what it keeps of its "
           "looks."),
    Metric("rss_in_use", "bytes", "Anonymous RSS in use",
           "Anonymous RSS without the memory that both allocators keep free. RSS itself stays the "
           "same while freed memory is reused.",
           {"rss_anonymous": 1, "heap_held": -1, "python_held": -1}),
    Metric("mapped", "bytes", "Mapped outside of the allocators",
           "Anonymous RSS beyond what both allocators have in use or hold: mappings and stacks.",
           {"rss_anonymous": 1, "heap_in_use": -1, "heap_held": -1, "python_in_use": -1,
            "python_held": -1},
           least=0),
    Metric("address_space", "bytes", "Address space outside of the allocators",
           "VMS beyond what both allocators have in use or hold: mappings, touched or not.",
           {"vms": 1, "heap_in_use": -1, "heap_held": -1, "python_in_use": -1, "python_held": -1}),
)  # fmt: skip

METRICS = {metric.name: metric for metric in _ALL}
#: What a process can leak besides memory.
RESOURCES = ("threads", "open_files", "children")
