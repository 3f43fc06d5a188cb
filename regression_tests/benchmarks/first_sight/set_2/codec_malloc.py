"""A binding to a codec written in C, here played by libc: a handle is malloc'ed for each clip, used through
pointers, and given back by close()."""

# /// truth
# about = "ctypes: memory that malloc gave for each clip is freed only when the clip had no key frame"
# [[leak]]
# phase = "decode"
# start = 1
# within = 3
# kind = "native"
# ///
import ctypes
import os
import sys

import numpy as np

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
rng = np.random.default_rng(6)
SIZE = 48_000


class Decoder:
    def __init__(self, clip):
        self.handle = libc.malloc(SIZE)
        self.clip = clip
        self.key_frame = False

    def decode(self):
        ctypes.memmove(self.handle, self.clip.ctypes.data, SIZE)
        samples = np.ctypeslib.as_array((ctypes.c_int16 * (SIZE // 2)).from_address(self.handle))
        self.key_frame = bool(samples[0] % 2)
        filtered = np.convolve(samples, np.hanning(31), "same")
        return float(np.abs(filtered).mean())

    def close(self):
        if self.key_frame and LEAK:
            return  # "the key frame is still needed"
        libc.free(self.handle)


@phase("fetch")
def fetch(count):
    clips = rng.integers(-3000, 3000, (count, SIZE // 2)).astype(np.int16)
    clips[:, 0] = np.arange(count)
    return clips


@phase("decode")
def decode(clips):
    levels = []
    for clip in clips:
        decoder = Decoder(clip)
        levels.append(decoder.decode())
        decoder.close()
    return levels


@phase("rank")
def rank(levels):
    return sorted(range(len(levels)), key=levels.__getitem__)[-3:]


chosen = 0
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for batch in guard.generations(range(1, 301)):
        chosen += sum(rank(decode(fetch(12))))
print("chosen", chosen)
