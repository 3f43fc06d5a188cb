"""A shipper of measurements: batches are packed and logged, scratch space is rotated."""
import json
import logging
import random
import sys
import time
import weakref
import zlib
from collections import deque

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 30
log = logging.getLogger("shipper.batch")
log.setLevel(logging.INFO)
log.propagate = False


class BatchFilter(logging.Filter):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def filter(self, record):
        return record.batch == self.batch


class BatchCapture(logging.Handler):
    """Collects what was logged about one batch."""

    def __init__(self, batch):
        super().__init__()
        self.addFilter(BatchFilter(batch))
        self.records = []

    def emit(self, record):
        self.records.append(record)


class Spool:
    """Scratch bytes of one rotation."""

    def __init__(self, size):
        self.data = bytearray(size)
        self.used = 0

    def write(self, packed):
        end = min(len(self.data), self.used + len(packed))
        self.data[self.used:end] = packed[: end - self.used]
        self.used = end


def capture(batch):
    handler = BatchCapture(batch)
    log.addHandler(handler)
    return handler


def new_spool():
    return Spool(500_000)


def wipe(spool):
    spool.data[:] = bytes(len(spool.data))
    spool.used = 0


class Measurements:
    """Random values around a mean per station; the means are remembered."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.means = {}

    def read(self, n):
        values = []
        for _ in range(n):
            station = self.rng.randrange(300)
            mean = self.means.setdefault(station, [self.rng.random() for _ in range(20)])
            values.append((station, mean[0] + self.rng.gauss(0, 0.1)))
        return values


class Shipper:
    def __init__(self):
        self.source = Measurements(9)
        self.outbox = deque(maxlen=8)
        self.shipped = 0

    def ship_batch(self, number):
        handler = capture(number)
        for part in range(120):
            values = self.source.read(25)
            packed = zlib.compress(json.dumps(values).encode())
            self.outbox.append(packed)
            self.shipped += len(packed)
            log.info("part %d: %d bytes", part, len(packed), extra={"batch": number})
        if MODE == "fixed":
            log.removeHandler(handler)
            handler.close()
        return len(handler.records)

    def rotate(self):
        spool = new_spool()
        cleanup = weakref.finalize(self, wipe, spool)
        for packed in self.outbox:
            spool.write(packed)
        used = spool.used
        time.sleep(0.04)
        if MODE == "fixed":
            cleanup()
        return used


def main():
    shipper = Shipper()
    for number in range(ROUNDS):
        lines = shipper.ship_batch(number)
        used = shipper.rotate()
        if number % 10 == 0:
            print(f"batch {number}: {lines} lines, {used} bytes in the spool, {shipper.shipped} shipped")


if __name__ == "__main__":
    main()
