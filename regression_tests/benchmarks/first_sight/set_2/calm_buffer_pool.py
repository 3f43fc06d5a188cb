"""A server of tiles with a pool of mapped buffers: under load it makes more of them, and it keeps those for the
next peak. Peaks get higher until round 150 of 260."""

# /// truth
# about = "a pool of mmap buffers that grows with each higher peak of load until round 150, and keeps what it has"
# ///
import math
import mmap
import os
import sys
import zlib

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(10)
SIZE = 256 * 1024


class Buffer:
    def __init__(self):
        self.memory = mmap.mmap(-1, SIZE)
        self.used = 0

    def write(self, data):
        self.memory.seek(0)
        self.memory.write(data)
        self.used += 1


class BufferPool:
    def __init__(self):
        self.free = []
        self.made = 0

    def take(self):
        if self.free:
            return self.free.pop()
        self.made += 1
        return Buffer()

    def give_back(self, buffer):
        self.free.append(buffer)


def main():
    pool = BufferPool()
    checksum = 0
    tile = rng.integers(0, 30, SIZE // 2, dtype=np.uint8)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for second in guard.generations(range(1, 261)):
            with guard.phase("accept"):
                height = 4 + 26 * min(second, 150) / 150 if second <= 150 else 18
                load = max(2, int(height * (0.6 + 0.4 * math.sin(second / 6))))
                taken = [pool.take() for _ in range(load)]
            with guard.phase("render"):
                for number, buffer in enumerate(taken):
                    image = np.roll(tile, number * 512 + second)
                    buffer.write(np.repeat(image, 2).tobytes())
            with guard.phase("send"):
                for buffer in taken:
                    checksum = zlib.adler32(buffer.memory, checksum)
                    pool.give_back(buffer)
    print("checksum", checksum, "buffers", pool.made)


main()
