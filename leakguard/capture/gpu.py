"""GPU memory, if the program already uses torch with CUDA; torch is never imported here."""

from __future__ import annotations

import re
import sys

from leakguard.capture.probe import Reading, Unavailable
from leakguard.model.brink import Ceiling

# How torch names the device that has run out, in its message.
_NAMED = re.compile(r"\bGPU (\d+)\b")


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


def gpu_ceiling(message: str) -> Ceiling | None:
    """Return what torch has allocated, of how much, on the GPU that ran out of memory.

    ``message`` is that of torch's exception. None if CUDA is not in use, or does not tell.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    named = _NAMED.search(message)
    try:
        device = int(named[1]) if named else cuda.current_device()
        most = cuda.get_device_properties(device).total_memory
        return Ceiling("gpu", cuda.memory_allocated(device), most)
    except Exception:  # the device has failed, not only its memory
        return None
