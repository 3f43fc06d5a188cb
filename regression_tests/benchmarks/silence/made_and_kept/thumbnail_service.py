"""A thumbnail service: requests become jobs of a thread pool, replies are collected per round."""
import hashlib
import sys
import time
import uuid
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor, wait

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 28
JOBS_PER_ROUND = 5


class TileCache:
    """Decoded source tiles; the least recently used one goes first."""

    def __init__(self, limit=20):
        self.limit = limit
        self.tiles = OrderedDict()
        self.hits = 0

    def get(self, name):
        if name in self.tiles:
            self.hits += 1
            self.tiles.move_to_end(name)
        else:
            seed = hashlib.sha256(name.encode()).digest()
            self.tiles[name] = seed * 1500
            while len(self.tiles) > self.limit:
                self.tiles.popitem(last=False)
        return self.tiles[name]


class Request:
    def __init__(self, number):
        self.uid = uuid.uuid4().hex
        self.source = f"photo-{number % 17}.raw"
        self.brightness = number % 200


class JobTracker:
    """Knows the state of every job, for the status page."""

    def __init__(self):
        self.jobs = {}

    def track(self, uid, future):
        self.jobs[uid] = future

    def forget(self, uid):
        self.jobs.pop(uid, None)

    def running(self):
        return sum(not future.done() for future in self.jobs.values())


def render(tile, brightness):
    """Brightens a tile and scales it up."""
    table = bytes(min(255, value + brightness) for value in range(256))
    bright = tile.translate(table)
    pixels = bytearray()
    for _ in range(4):
        pixels += bright
        time.sleep(0.002)
    return pixels


class Service:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="render")
        self.tracker = JobTracker()
        self.cache = TileCache()
        self.served = 0

    def accept(self, request):
        tile = self.cache.get(request.source)
        future = self.pool.submit(render, tile, request.brightness)
        self.tracker.track(request.uid, future)
        return future

    def reply(self, request, future):
        pixels = future.result()
        self.served += len(pixels)
        if MODE == "fixed":
            self.tracker.forget(request.uid)
        return hashlib.md5(pixels).hexdigest()

    def close(self):
        self.pool.shutdown()


def serve_round(service, number):
    requests = [Request(number * JOBS_PER_ROUND + i) for i in range(JOBS_PER_ROUND)]
    futures = [service.accept(request) for request in requests]
    wait(futures)
    return [service.reply(request, future) for request, future in zip(requests, futures)]


def main():
    service = Service()
    for number in range(ROUNDS):
        digests = serve_round(service, number)
        time.sleep(0.05)
        if number % 10 == 0:
            print(number, digests[0], "running:", service.tracker.running())
    service.close()
    print(f"served {service.served / 1e6:.1f} MB, {service.cache.hits} cache hits")


if __name__ == "__main__":
    main()
