"""Frames go through a C codec by ctypes; its buffers come from malloc."""
# /// truth
# about = "the key-frame path of the encoder does not free the C buffer it asked for"
# [[leak]]
# phase = "encode"
# start = 61
# within = 3
# kind = "native"
# ///
import ctypes
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 170
KEY_FRAMES_FROM = 61

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class Codec:
    def __init__(self):
        self.checksum = 0

    def encode(self, frame, key):
        data = np.ascontiguousarray(frame, np.uint8)
        buffer = libc.malloc(data.nbytes)
        libc.memcpy(buffer, data.ctypes.data, data.nbytes)
        view = (ctypes.c_ubyte * data.nbytes).from_address(buffer)
        self.checksum ^= int(np.bitwise_xor.reduce(np.frombuffer(view, np.uint8)))
        if key and LEAK:
            return
        libc.free(buffer)


rng = np.random.default_rng(4)
codec = Codec()
scene = rng.random((220, 200))
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for tick in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("render"):
            for _ in range(70):
                scene = 0.2 * (scene + np.roll(scene, 1, 0) + np.roll(scene, -1, 0) + np.roll(scene, 1, 1) + rng.random())
                scene -= np.floor(scene)
        with guard.phase("encode"):
            frame = (scene * 255).astype(np.uint8)
            for layer in range(6):
                codec.encode(frame // (layer + 1), key=layer < 5 and tick >= KEY_FRAMES_FROM)
