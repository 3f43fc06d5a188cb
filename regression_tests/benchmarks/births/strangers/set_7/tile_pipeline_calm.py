"""Map tiles: decode raw camera frames, filter them with numpy and a C scratch plane, store compressed."""
import collections
import ctypes, sys
import zlib

import numpy as np

from leakguard import LeakGuard

ROUNDS = 40
SIDE = 384

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class ScratchPool:
    """At most eight float planes, made when first wanted and used again."""

    def __init__(self):
        self.free = []
        self.made = 0

    def take(self):
        if self.free:
            return self.free.pop()
        self.made += 1
        return np.empty((SIDE, SIDE))

    def give(self, plane):
        if len(self.free) < 8:
            self.free.append(plane)


class TileCache:
    def __init__(self, limit):
        self.limit = limit
        self.tiles = collections.OrderedDict()

    def put(self, key, tile):
        self.tiles[key] = tile
        self.tiles.move_to_end(key)
        while len(self.tiles) > self.limit:
            self.tiles.popitem(last=False)


def decode(rng, camera):
    frame = rng.integers(0, 255, size=(SIDE, SIDE), dtype=np.uint8)
    return frame if camera == "old" else frame[::-1].copy()


def smooth(frame, pool):
    plane = pool.take()
    plane[:] = frame
    for _ in range(12):
        plane[1:-1, 1:-1] = (plane[:-2, 1:-1] + plane[2:, 1:-1] + plane[1:-1, :-2] + plane[1:-1, 2:]) / 4
    result = plane.astype(np.uint8)
    pool.give(plane)
    return result


def alpha_mask(frame, camera):
    """A mask computed over a raw plane, as the C library wants it."""
    size = frame.nbytes
    raw = libc.malloc(size)
    ctypes.memmove(raw, frame.ctypes.data, size)
    view = np.frombuffer((ctypes.c_uint8 * size).from_address(raw), dtype=np.uint8)
    opaque = int((view > 128).sum())
    del view
    libc.free(raw)
    if camera == "new" and opaque < size:
        return opaque / size
    return 1.0 if opaque == size else opaque / size


class Store:
    def __init__(self):
        self.streams = {}
        self.sizes = collections.deque(maxlen=20)

    def write(self, key, tile):
        """Compress progressively: viewers read the first half while the second is under way."""
        stream = self.streams.setdefault(key, zlib.compressobj(6))
        half = SIDE // 2
        first = stream.compress(tile[:half].tobytes()) + stream.flush(zlib.Z_SYNC_FLUSH)
        second = stream.compress(tile[half:].tobytes()) + stream.flush(zlib.Z_SYNC_FLUSH)
        del self.streams[key]
        self.sizes.append((key, len(first), len(second)))
        return first + second


def main():
    rng = np.random.default_rng(11)
    pool, cache, store = ScratchPool(), TileCache(16), Store()
    histogram = np.zeros(256, dtype=np.int64)
    guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "tile_pipeline_calm.jsonl")
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            camera = "new" if number >= 12 else "old"
            with guard.phase("decode"):
                frames = [decode(rng, camera) for _ in range(6)]
            with guard.phase("filter"):
                tiles = [smooth(frame, pool) for frame in frames]
                coverage = [alpha_mask(tile, camera) for tile in frames[:2]]
                for tile in tiles:
                    histogram += np.bincount(tile.ravel(), minlength=256)
            with guard.phase("store"):
                cache.put(number, tiles[0])
                for repeat in range(6):
                    zlib.compress(tiles[repeat].tobytes(), 6)
                store.write((number, 0), tiles[0])
                store.write((number, 1), tiles[1])
    print("tiles", number, "coverage", round(sum(coverage), 3), "mode", int(histogram.argmax()))


main()
