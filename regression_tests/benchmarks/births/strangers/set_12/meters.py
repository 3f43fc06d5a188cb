"""Smart-meter pipeline: decode lines, aggregate, audit, compact the spill."""
import array
import collections
import heapq
import itertools
import math
import queue
import random
import sys
import threading
import zlib

FIXED = sys.argv[1] == "fixed"
BATCHES = 140
BATCH = 1500
SURGE_FROM = 58


def lines(seed):
    """The wire: one reading a line, with a checksum."""
    rng = random.Random(seed)
    for number in itertools.count():
        meter = f"m{rng.randrange(5000):05d}"
        values = ",".join(f"{rng.gauss(50, 12):.3f}" for _ in range(6))
        body = f"{number};{meter};{rng.choice('ABCD')};{values}"
        yield f"{body}*{zlib.crc32(body.encode()):08x}"


class Codec:
    rejected = 0

    @staticmethod
    def decode(line):
        body, _, mark = line.rpartition("*")
        if zlib.crc32(body.encode()) != int(mark, 16):
            Codec.rejected += 1
            return None
        number, meter, phase, values = body.split(";")
        return int(number), meter, phase, tuple(float(value) for value in values.split(","))


def parse(source):
    for line in source:
        record = Codec.decode(line)
        if record is not None:
            yield record


class LineProfile:
    """Histogram of line widths, for as long as it is installed."""

    def __init__(self):
        self.original = Codec.decode
        self.widths = array.array("q", bytes(8 * 6000))

    def install(self):
        widths, inner = self.widths, self.original

        def decode(line):
            widths[len(line)] += 1
            return inner(line)

        Codec.decode = staticmethod(decode)

    def remove(self):
        Codec.decode = staticmethod(self.original)

    def median(self):
        half, seen = sum(self.widths) // 2, 0
        for width, count in enumerate(self.widths):
            seen += count
            if seen > half:
                return width


class Compactor(threading.Thread):
    """Packs the blocks of a batch's spill, to learn its packed size."""

    def __init__(self):
        super().__init__(daemon=True)
        self.blocks = queue.Queue()
        self.packed_size = 0

    def run(self):
        merged = bytearray()
        for block in iter(self.blocks.get, None):
            merged += block
            self.packed_size = len(zlib.compress(merged, 1))
            self.blocks.task_done()


def spill(batch):
    compactor = Compactor()
    compactor.start()
    text = "\n".join(repr(record) for record in batch).encode()
    for start in range(0, len(text), 40_000):
        compactor.blocks.put(text[start:start + 40_000])
    compactor.blocks.join()
    if FIXED:
        compactor.blocks.put(None)
        compactor.join()
    return compactor.packed_size


class Aggregates:
    def __init__(self):
        self.by_phase = collections.Counter()
        self.totals = dict.fromkeys((f"m{number:05d}" for number in range(5000)), 0.0)
        self.highest = []
        self.usual = [50.0] * 6
        self.surprise = 0.0

    def add(self, record):
        number, meter, phase, values = record
        load = sum(values)
        low, high = sorted(values)[1::3]
        for hour, value in enumerate(values):
            if low <= value <= high:
                self.usual[hour] += 0.01 * (value - self.usual[hour])
            else:
                self.surprise += math.log1p(abs(value - self.usual[hour]))
        self.by_phase[phase] += 1
        self.totals[meter] += load
        item = (load, number)
        if len(self.highest) < 50:
            heapq.heappush(self.highest, item)
        else:
            heapq.heappushpop(self.highest, item)


def check(sample):
    return sum(1 for _, _, _, values in sample if min(values) < 5)


aggregates = Aggregates()
feed, audit = itertools.tee(parse(lines(17)))
odd = packed = 0
for number in range(1, BATCHES + 1):
    profile = LineProfile()
    profile.install()
    batch = list(itertools.islice(feed, BATCH))
    for record in batch:
        aggregates.add(record)
    if FIXED:
        odd += check(list(itertools.islice(audit, BATCH))[::20])
    else:
        odd += check(itertools.islice(audit, BATCH // 20))
    if number >= SURGE_FROM:
        packed += spill(batch)
    if number % 20 == 0:
        print(f"batch {number}: median width {profile.median()}, odd {odd}, packed {packed}")
    if FIXED:
        profile.remove()
print(f"highest {max(aggregates.highest)[0]:.2f}, surprise {aggregates.surprise:.1f}")
