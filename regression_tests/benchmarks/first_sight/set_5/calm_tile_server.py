"""Map tile server under synthetic load, tiles rendered on demand and cached."""
import asyncio
import random
import zlib
from collections import OrderedDict

import numpy as np

# /// truth
# about = "a tile server whose LRU cache fills for a good part of the run and then evicts"
# ///


class TileCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.tiles = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key):
        tile = self.tiles.get(key)
        if tile is None:
            self.misses += 1
            return None
        self.hits += 1
        self.tiles.move_to_end(key)
        return tile

    def put(self, key, tile):
        self.tiles[key] = tile
        while len(self.tiles) > self.capacity:
            self.tiles.popitem(last=False)


class Server:
    def __init__(self):
        self.cache = TileCache(900)
        self.rng = random.Random(6)
        self.served = 0
        self.sent = 0

    def render(self, z, x, y):
        u = np.linspace(x, x + 1, 128)[None, :] / (1 + z)
        v = np.linspace(y, y + 1, 128)[:, None] / (1 + z)
        height = np.zeros((128, 128))
        for k in range(1, 14):
            height += np.sin(k * u + 1.7 * k) * np.cos(k * v) / k
        return ((height - height.min()) * 20).astype(np.uint8)

    async def request(self, z, x, y):
        tile = self.cache.get((z, x, y))
        if tile is None:
            await asyncio.sleep(0)
            tile = self.render(z, x, y)
            self.cache.put((z, x, y), tile)
        body = zlib.compress(tile.tobytes(), 6)
        self.served += 1
        self.sent += len(body)

    def pick(self):
        z = self.rng.randrange(3)
        span = 24 * (z + 1)
        x = min(span - 1, int(self.rng.paretovariate(0.7)))
        return z, x, self.rng.randrange(span)

    async def serve(self, rounds):
        n = 0
        while True:
            await asyncio.gather(*(self.request(*self.pick()) for _ in range(7)))
            n += 1
            if n % 250 == 0:
                c = self.cache
                print(f"{n}: served {self.served} hit rate {c.hits / (c.hits + c.misses):.2f} cached {len(c.tiles)}")
            if n >= rounds:
                break


asyncio.run(Server().serve(1750))
