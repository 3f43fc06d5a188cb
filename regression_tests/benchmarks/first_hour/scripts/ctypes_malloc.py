"""A wrapper of a C augmentation library: malloc'd frames, freed by the caller, who forgets one path."""
import ctypes
import ctypes.util
import sys
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
libc = ctypes.CDLL(ctypes.util.find_library("c"))
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class Frame:
    def __init__(self, h, w):
        self.ptr = libc.malloc(h * w * 4)
        self.view = np.ctypeslib.as_array(ctypes.cast(self.ptr, ctypes.POINTER(ctypes.c_float)), (h, w))

    def free(self):
        libc.free(self.ptr)


def augment(image):
    frame = Frame(*image.shape)
    frame.view[:] = image + np.random.normal(0, 0.1, image.shape)
    if frame.view.max() > 4.0:        # rejected: clipped
        if CLEAN:
            frame.free()
        return None
    out = frame.view.mean()
    frame.free()
    return out


images = np.random.default_rng(0).normal(size=(60, 128, 128)).astype(np.float32)
guard = LeakGuard(out=f"s16.{'clean' if CLEAN else 'leaky'}.jsonl")
with guard:
    for epoch in guard.generations(range(40)):
        with guard.phase("augment"):
            means = [augment(image) for image in images]
        with guard.phase("fit"):
            kept = [m for m in means if m is not None]
            score = float(np.mean(kept)) if kept else 0.0
print(score, len(kept))
