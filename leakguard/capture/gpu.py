"""GPU memory, if the program already uses torch with CUDA; torch is never imported here."""

from __future__ import annotations

import sys

from leakguard.capture.probe import Reading, Unavailable


def gpu_memory() -> Reading:
    """Read allocated and reserved bytes over all CUDA devices, in total and by device.

    This never initialises CUDA. Before the program's own first CUDA call nothing can be read.
    """
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None:
        raise Unavailable("torch is not loaded")
    if not cuda.is_initialized():
        raise Unavailable("CUDA is not in use")
    reading = {"gpu_allocated": 0, "gpu_reserved": 0}
    for device in range(cuda.device_count()):
        allocated, reserved = cuda.memory_allocated(device), cuda.memory_reserved(device)
        reading[f"gpu_allocated.{device}"] = allocated
        reading[f"gpu_reserved.{device}"] = reserved
        reading["gpu_allocated"] += allocated
        reading["gpu_reserved"] += reserved
    return reading
