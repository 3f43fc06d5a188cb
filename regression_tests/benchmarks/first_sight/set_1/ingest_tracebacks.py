"""Ingests sensor records; broken ones are remembered as the last error of their source."""
# /// truth
# about = "errors are filed by record instead of by source, each with a traceback whose frames hold the payload"
# [[leak]]
# type = "CorruptRecord"
# holder = "last_error"
# phase = "ingest"
# start = 2
# within = 2
# kind = "instances"
# ///
import os
import random
import sys
import zlib

import numpy as np

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
GENERATIONS = 180
SOURCES = ("dock", "roof", "gate", "hall")


class CorruptRecord(Exception):
    pass


class Ingestor:
    def __init__(self):
        self.random = random.Random(20)
        self.noise = np.random.default_rng(20)
        self.last_error = {}
        self.sums = dict.fromkeys(SOURCES, 0.0)
        self.number = 0

    def decode(self, raw, broken):
        payload = np.frombuffer(zlib.decompress(raw), np.int16).astype(np.float32)
        spectrum = np.abs(np.fft.rfft(payload))
        if broken:
            raise CorruptRecord(f"checksum of {len(raw)} bytes")
        return float(spectrum.max())

    @phase("receive")
    def receive(self):
        for source in SOURCES * 3:
            self.number += 1
            samples = self.noise.integers(0, 50, 40_000, dtype=np.int16)
            broken = self.random.random() < 0.12
            yield source, self.number, zlib.compress(samples.tobytes(), 1), broken

    @phase("ingest")
    def ingest(self, records):
        for source, number, raw, broken in records:
            try:
                self.sums[source] += self.decode(raw, broken)
            except CorruptRecord as error:
                self.last_error[(source, number) if LEAK else source] = error


ingestor = Ingestor()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for batch in guard.generations(range(1, GENERATIONS + 1)):
        records = list(ingestor.receive())
        ingestor.ingest(records)
