#!/usr/bin/env python3
"""Nightly report: regions are aggregated in a thread pool; every step leaves an audit record."""
import hashlib
import json
import queue
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
NIGHTS = 50
REGIONS = ["north", "south", "east", "west"]
ROWS = 18_000


class AuditRecord:
    def __init__(self, night, region, rows):
        self.night, self.region = night, region
        self.stamp = time.monotonic()
        self.sample = [dict(r) for r in rows[:40]]


class Audit:
    """Records go to a queue, a writer thread turns them into lines."""

    def __init__(self):
        self.pending = queue.Queue()
        self.lines = 0
        self.writer = None

    def start(self):
        self.writer = threading.Thread(target=self._write, daemon=True)
        self.writer.start()

    def _write(self):
        while True:
            record = self.pending.get()
            if record is None:
                return
            json.dumps(record.sample)
            self.lines += 1

    def record(self, night, region, rows):
        self.pending.put(AuditRecord(night, region, rows))

    def stop(self):
        if self.writer is not None:
            self.pending.put(None)
            self.writer.join()


def load_rows(night, region):
    rng = random.Random(f"{night}{region}")
    return [{"id": i, "region": region, "amount": rng.randrange(10_000), "kind": rng.choice("abc")}
            for i in range(ROWS)]


class Report:
    def __init__(self, audit):
        self.audit = audit
        self.pool = ThreadPoolExecutor(max_workers=3)
        self.latest = {}
        self.baseline = {}

    def aggregate(self, night, region):
        rows = load_rows(night, region)
        totals = {}
        for row in rows:
            totals[row["kind"]] = totals.get(row["kind"], 0) + row["amount"]
        self.audit.record(night, region, rows)
        return region, totals

    def run_night(self, night):
        futures = [self.pool.submit(self.aggregate, night, region) for region in REGIONS]
        for future in futures:
            region, totals = future.result()
            history = self.baseline.setdefault(region, [])
            history.append(totals)
            del history[:-20]
            self.latest[region] = totals
        digest = hashlib.sha256(json.dumps(self.latest, sort_keys=True).encode()).hexdigest()
        return digest[:10]


def main():
    audit = Audit()
    if MODE == "fixed":
        audit.start()
    report = Report(audit)
    for night in range(NIGHTS):
        digest = report.run_night(night)
        if night % 10 == 0:
            print(f"night {night}: {digest}", flush=True)
    audit.stop()
    report.pool.shutdown()
    print("done", len(report.latest), "regions")


if __name__ == "__main__":
    main()
