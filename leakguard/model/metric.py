"""The scalars a snapshot may hold, each with what it means and what it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["bytes", "count"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the process, known by name in every snapshot, log and report."""

    name: str
    unit: Unit
    title: str
    meaning: str


RSS = Metric(
    "rss",
    "bytes",
    "RSS (actual RAM)",
    "Pages in RAM, file-backed and shared ones included. Not the same as live objects: an allocator may hold freed memory.",
)
VMS = Metric(
    "vms", "bytes", "VMS (virtual)", "Address space reserved; costs no RAM until it is touched."
)
ANONYMOUS = Metric(
    "rss_anonymous",
    "bytes",
    "Anonymous RSS",
    "Pages in RAM that no file backs: heap, arenas and stacks. Leaves memory-mapped files out.",
)
FILE_BACKED = Metric(
    "rss_file", "bytes", "File-backed RSS", "Mapped file pages in RAM; the kernel can drop them."
)
SHARED = Metric(
    "rss_shared",
    "bytes",
    "Shared RSS",
    "Shared memory pages in RAM, for example torch tensors passed to workers.",
)
SWAP = Metric("swap", "bytes", "Swap", "Anonymous pages that were moved out of RAM.")
PEAK = Metric(
    "peak",
    "bytes",
    "Peak (this phase)",
    "The highest RSS reached between the start and the end of the phase, inner phases included.",
)
HEAP_IN_USE = Metric(
    "heap_in_use",
    "bytes",
    "Allocator in use",
    "Bytes the C allocator has handed out and not got back. Python's small-object arenas count as in use whole.",
)
HEAP_HELD = Metric(
    "heap_held",
    "bytes",
    "Allocator held free",
    "Freed bytes the C allocator keeps; they count in RSS and are no leak (fragmentation, retention).",
)
PYTHON_BLOCKS = Metric(
    "python_blocks",
    "count",
    "Python memory blocks",
    "Small blocks in use in Python's own allocator.",
)
GC_COUNT = Metric(
    "gc_pending",
    "count",
    "Objects since collection",
    "Container allocations minus releases since the youngest collection.",
)
GC_COLLECTIONS = Metric(
    "gc_full_collections",
    "count",
    "Full collections",
    "Collections of the oldest generation so far.",
)
GC_UNCOLLECTABLE = Metric("gc_uncollectable", "count", "Uncollectable", "Objects in gc.garbage.")
GC_FROZEN = Metric(
    "gc_frozen",
    "count",
    "Frozen objects",
    "Objects moved out of the collector's sight by gc.freeze().",
)
GC_ENABLED = Metric(
    "gc_enabled",
    "count",
    "Collector on",
    "1 when automatic collection is on, 0 when the program switched it off.",
)
THREADS = Metric("threads", "count", "Threads", "Threads of the process, native ones included.")
OPEN_FILES = Metric(
    "open_files", "count", "Open files", "File descriptors, sockets and pipes included."
)
CHILDREN = Metric("children", "count", "Child processes", "Direct children that are alive.")
GPU_ALLOCATED = Metric(
    "gpu_allocated", "bytes", "GPU allocated", "Bytes of live tensors on all CUDA devices."
)
GPU_RESERVED = Metric(
    "gpu_reserved",
    "bytes",
    "GPU reserved",
    "Bytes that torch's caching allocator holds on all CUDA devices; free blocks are included.",
)

METRICS = {
    metric.name: metric
    for metric in (
        RSS, VMS, ANONYMOUS, FILE_BACKED, SHARED, SWAP, PEAK, HEAP_IN_USE, HEAP_HELD, PYTHON_BLOCKS,
        GC_COUNT, GC_COLLECTIONS, GC_UNCOLLECTABLE, GC_FROZEN, GC_ENABLED, THREADS, OPEN_FILES, CHILDREN,
        GPU_ALLOCATED, GPU_RESERVED,
    )
}  # fmt: skip
