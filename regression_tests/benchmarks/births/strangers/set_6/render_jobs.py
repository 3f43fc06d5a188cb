import io
import logging
import logging.handlers
import queue
import sys
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

MODE = sys.argv[1]
sink = logging.NullHandler()
root = logging.getLogger("render")
root.propagate = False
root.setLevel(logging.DEBUG)
root.addHandler(sink)


def job_logger(number):
    name = "render.job" if MODE == "fixed" else f"render.job{number}"
    log = logging.getLogger(name)
    if not log.handlers:
        log.addHandler(logging.handlers.MemoryHandler(200, target=sink, flushOnClose=False))
        log.propagate = False
    return log


class TileCache:
    """Most recent tiles, least recently used goes first."""

    def __init__(self, size=48):
        self.size = size
        self.tiles = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key):
        with self.lock:
            if key in self.tiles:
                self.tiles.move_to_end(key)
                return self.tiles[key]
        tile = np.outer(np.sin(np.arange(64) * key), np.cos(np.arange(64))).astype("f4")
        with self.lock:
            self.tiles[key] = tile
            while len(self.tiles) > self.size:
                self.tiles.popitem(last=False)
        return tile


class Previewer:
    """Serves one scene's preview to whoever asks for it, in the background."""

    def __init__(self, scene):
        self.requests = queue.Queue()
        self.thread = threading.Thread(target=self.work, args=(scene,), daemon=True)
        self.thread.start()

    def work(self, scene):
        preview = scene[::2, ::2].copy()
        while True:
            reply = self.requests.get()
            if reply is None:
                return
            reply.put(float(preview.mean()))

    def mean(self):
        reply = queue.Queue()
        self.requests.put(reply)
        return reply.get()

    def close(self):
        if MODE == "fixed":
            self.requests.put(None)
            self.thread.join()
        self.requests = None


class Farm:
    def __init__(self):
        self.cache = TileCache()
        self.pool = ThreadPoolExecutor(2)
        self.transcript = io.StringIO()
        self.frames = 0

    def shade(self, n):
        tile = self.cache.get(n % 90)
        return float(np.abs(np.fft.fft2(np.tile(tile, (3, 3)))).max())

    def note(self, number, values):
        if MODE == "fixed" and self.transcript.tell() > 60_000:
            self.transcript.seek(0)
            self.transcript.truncate()
        for k, v in enumerate(values):
            self.transcript.write(f"job {number:06d} tile {k:03d} peak {v:.12e} status=done\n")

    def process(self, number):
        log = job_logger(number)
        scene = np.random.default_rng(number).random((320, 320))
        previewer = Previewer(scene)
        values = list(self.pool.map(self.shade, range(number * 7, number * 7 + 40)))
        for k, v in enumerate(values):
            log.debug("tile %d of job %d has peak %.3f", k, number, v)
        self.note(number, values)
        self.frames += previewer.mean() > 0
        previewer.close()
        time.sleep(0.03)


def main():
    farm = Farm()
    for number in range(120):
        farm.process(number)
    print("frames", farm.frames, "tiles", len(farm.cache.tiles))


main()
