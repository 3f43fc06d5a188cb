"""A tile server with a size-bounded LRU cache under a drifting Zipf load."""
# /// truth
# about = "an LRU cache of rendered tiles, bounded by bytes, that fills up slowly"
# ///
import sys
from collections import OrderedDict

import numpy as np

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


class Tile:
    def __init__(self, key, pixels):
        self.key = key
        self.pixels = pixels
        self.served = 0


class TileCache:
    def __init__(self, limit):
        self.limit = limit
        self.size = 0
        self.tiles = OrderedDict()

    def get(self, key):
        tile = self.tiles.get(key)
        if tile is not None:
            self.tiles.move_to_end(key)
        return tile

    def put(self, tile):
        self.tiles[tile.key] = tile
        self.size += tile.pixels.nbytes
        while self.size > self.limit:
            _, old = self.tiles.popitem(last=False)
            self.size -= old.pixels.nbytes


def render(key, detail=95):
    zoom, x, y = key
    axis = np.linspace(0, 1, 64) / (zoom + 1)
    c = (x * 0.01 - 1.6 + axis)[None, :] + 1j * (y * 0.01 - 0.9 + axis)[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.float32)
    for _ in range(detail):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


class Server:
    def __init__(self, seed, cache):
        self.rng = np.random.default_rng(seed)
        self.cache = cache
        self.hits = self.asked = 0

    def keys(self, minute, n):
        ranks = self.rng.zipf(1.25, size=n) % 4000
        return [(int(r) % 5, int(r) // 5 % 130, (int(r) * 7 + minute // 40) % 170) for r in ranks]

    def serve(self, key):
        self.asked += 1
        tile = self.cache.get(key)
        if tile is None:
            tile = Tile(key, render(key))
            self.cache.put(tile)
        else:
            self.hits += 1
        tile.served += 1
        return float(tile.pixels.mean())


server = Server(13, TileCache(limit=24 << 20))
brightness = 0.0
for minute in range(350):
    for key in server.keys(minute, 24):
        brightness = 0.99 * brightness + 0.01 * server.serve(key)
    if minute % 50 == 0:
        print(f"minute {minute} hit rate {server.hits / server.asked:.2f} "
              f"cache {server.cache.size >> 10} kB brightness {brightness:.2f}", flush=True)
