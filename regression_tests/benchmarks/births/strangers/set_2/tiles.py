"""An image tile server: render a viewport, cache tiles, keep a strip of previews."""
import sys
import time
import zlib
from collections import OrderedDict, deque

import numpy as np

MODE = sys.argv[1]


class TileCache:
    """LRU by number of tiles."""

    def __init__(self, limit):
        self.limit = limit
        self.tiles = OrderedDict()

    def get(self, key, make):
        if key in self.tiles:
            self.tiles.move_to_end(key)
            return self.tiles[key]
        tile = self.tiles[key] = make(*key)
        if len(self.tiles) > self.limit:
            self.tiles.popitem(last=False)
        return tile


class Palette:
    def __init__(self):
        ramp = np.linspace(0, 1, 256)
        self.table = np.stack([ramp, ramp**2, 1 - ramp, np.ones(256)], axis=1)
        self.table = (self.table * 255).astype(np.uint8)

    def colour(self, height):
        return self.table[height]


class Renderer:
    def __init__(self):
        self.palette = Palette()
        self.cache = TileCache(12)
        self.strip = []
        self.sizes = deque(maxlen=100)
        if MODE == "fixed":
            self.strip = deque(maxlen=6)

    def render(self, zoom, x, y):
        axis = np.arange(448, dtype=np.float32)
        wave = np.sin((axis + 448 * x) / (9 + zoom))[:, None] * np.cos((axis + 448 * y) / (13 + zoom))[None, :]
        return self.palette.colour(((wave + 1) * 127).astype(np.uint8))

    def preview(self, tile):
        small = tile[::28, ::28]
        if MODE == "fixed":
            small = small.copy()
        self.strip.append(small)

    def viewport(self, step):
        for dx in range(3):
            tile = self.cache.get((step // 15 % 4, step + dx, step // 15), self.render)
            self.sizes.append(len(zlib.compress(tile.tobytes()[:60_000], 1)))
        if step % 3 == 0:
            self.preview(tile)


renderer = Renderer()


def pan(steps):
    began = time.perf_counter()
    for step in range(steps):
        renderer.viewport(step)
        time.sleep(0.03)
    return steps / (time.perf_counter() - began)


rate = pan(60)
print(f"{rate:.1f} viewports/s, {len(renderer.strip)} previews, mean {sum(renderer.sizes) / len(renderer.sizes):.0f}")
