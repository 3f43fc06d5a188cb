"""A cluster scheduler: jobs are queued by priority, superseded, run within a budget, and reported."""
import heapq
import itertools
import json
import random
import sys
import zlib
from collections import Counter, OrderedDict, deque

FIXED = sys.argv[1] == "fixed"
TICKS = 200
BUDGET = 60


class Job:
    def __init__(self, name, priority, spec):
        self.name = name
        self.priority = priority
        self.spec = spec
        self.cancelled = False


class ResultCache:
    """An LRU cache of 150 results."""

    def __init__(self):
        self.entries = OrderedDict()

    def get(self, key, compute):
        if key in self.entries:
            self.entries.move_to_end(key)
        else:
            self.entries[key] = compute()
            if len(self.entries) > 150:
                self.entries.popitem(last=False)
        return self.entries[key]


class Scheduler:
    def __init__(self):
        self.heap = []
        self.latest = {}                # the newest job of a name; names are few
        self.sequence = itertools.count()
        self.stale = 0

    def submit(self, job):
        before = self.latest.get(job.name)
        if before is not None and not before.cancelled:
            before.cancelled = True     # superseded: skipped when it comes to the top
            self.stale += 1
        self.latest[job.name] = job
        heapq.heappush(self.heap, (job.priority, next(self.sequence), job))

    def pop(self):
        while self.heap:
            _, _, job = heapq.heappop(self.heap)
            if job.cancelled:
                self.stale -= 1
                continue
            job.cancelled = True
            return job
        return None

    def housekeeping(self):
        if FIXED and self.stale > 40:
            self.heap = [entry for entry in self.heap if not entry[2].cancelled]
            heapq.heapify(self.heap)
            self.stale = 0


def spec_of(rng, name, tick):
    return {
        "name": name,
        "tick": tick,
        "env": {f"VAR_{i}": f"{name}-{rng.random():.12f}" for i in range(10)},
        "command": [f"--shard={i}" for i in range(6)],
    }


def arrivals(rng, tick):
    """Urgent jobs come in large numbers; a few batch jobs are resubmitted with new settings."""
    for i in range(BUDGET):
        yield Job(f"urgent-{i}", rng.randrange(0, 5), spec_of(rng, f"urgent-{i}", tick))
    for i in range(12):
        name = f"nightly-{(tick * 12 + i) % 48}"
        yield Job(name, 9, spec_of(rng, name, tick))


class Worker:
    def __init__(self):
        self.cache = ResultCache()
        self.done = Counter()
        self.log = deque(maxlen=100)

    def execute(self, job):
        text = json.dumps(job.spec, sort_keys=True)
        digest = 0
        for level in (1, 6):
            packed = zlib.compress(text.encode() * 4, level)
            digest = zlib.crc32(packed, digest)
        result = self.cache.get(digest, lambda: text.upper())
        self.done[job.priority] += 1
        self.log.append((job.name, len(result)))
        return digest & 0xFFFF


def tick_once(scheduler, worker, rng, tick):
    total = 0
    for job in arrivals(rng, tick):
        scheduler.submit(job)
    for _ in range(BUDGET):
        job = scheduler.pop()
        if job is None:
            break
        total += worker.execute(job)
    scheduler.housekeeping()
    return total


def main():
    rng = random.Random(17)
    scheduler, worker = Scheduler(), Worker()
    checksum = 0
    for tick in range(TICKS):
        checksum += tick_once(scheduler, worker, rng, tick)
    print(checksum, len(worker.cache.entries), sum(worker.done.values()))


main()
