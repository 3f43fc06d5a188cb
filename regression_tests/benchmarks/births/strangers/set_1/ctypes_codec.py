"""Encodes frames through C buffers, as one does around a foreign codec."""
import ctypes
import sys
import zlib

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = np.random.default_rng(23)


class Session(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_char))]


class Codec:
    pinned = {}

    def __init__(self):
        self.handle = 0
        self.sizes = []

    def open(self, raw):
        self.handle += 1
        buffer = ctypes.create_string_buffer(raw, len(raw) * 2)
        session = Session(256, 256, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_char)))
        Codec.pinned[self.handle] = (session, buffer)
        return session, buffer

    def encode(self, frame):
        session, buffer = self.open(frame.tobytes())
        packed = min((zlib.compress(buffer.raw, level) for level in (2, 4, 6)), key=len)
        self.sizes.append(len(packed))
        if FIXED:
            del Codec.pinned[self.handle]
        return packed


def draw(number):
    y, x = np.mgrid[:256, :256]
    frame = np.sin(x / 9 + number) * np.cos(y / 7) * 100 + rng.integers(0, 8, (256, 256))
    return frame.astype(np.int16)


codec = Codec()
latest = {}
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(150)):
        with guard.phase("draw"):
            frames = [draw(number), draw(number + 0.5)]
        with guard.phase("encode"):
            latest[number % 4] = [codec.encode(frame) for frame in frames]
print("frames", len(codec.sizes), "bytes", sum(codec.sizes))
