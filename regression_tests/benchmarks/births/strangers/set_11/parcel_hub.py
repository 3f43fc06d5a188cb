"""A parcel hub by night: carriers bring batches, lanes are planned, costs go to a ledger."""
import asyncio
import functools
import sqlite3
import sys
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from leakguard import LeakGuard

TIDY = sys.argv[1] == "fixed"
DAYS, ZONES, BINS, KEEP_DAYS = 160, 24, 4096, 4
LEDGER_FROM = 71
SMOOTHING = np.hanning(400) / 200
LANES = ("north", "east", "south", "west")


@dataclass
class Batch:
    day: int
    weights: np.ndarray
    zones: np.ndarray
    release: asyncio.Task | None = None


@functools.lru_cache(maxsize=60)
def tariff(zone, lane):
    steps = np.arange(800, dtype=float)
    return 2.0 + 0.003 * steps * (1 + zone % 5) + LANES.index(lane)


class Carrier:
    def __init__(self, name, seed):
        self.name = name
        self.rng = np.random.default_rng(seed)

    async def deliver(self, day):
        count = 3800 + 100 * (day % 3)
        weights = self.rng.gamma(2.0, 1.5, count)
        await asyncio.sleep(0)
        return weights, self.rng.integers(0, ZONES, count)


class Ledger:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE cost (day, lane, zone, amount, remark)")

    def book(self, day, plan):
        stamp = day if TIDY else f"{day:d}"
        rows = [(stamp, lane, zone, float(amount), f"{lane}/{zone:02d} leg {leg} of night {day}")
                for lane, table in plan.items()
                for zone, row in enumerate(table) for leg, amount in enumerate(row[:12])]
        self.db.executemany("INSERT INTO cost VALUES (?, ?, ?, ?, ?)", rows)
        self.db.execute("DELETE FROM cost WHERE day <= ?", (day - KEEP_DAYS,))
        return sum(row[3] for row in rows)


class Hub:
    def __init__(self):
        self.carriers = [Carrier(name, seed) for seed, name in enumerate(("rail", "road", "air", "sea"))]
        self.closing = asyncio.Event()
        self.load = defaultdict(lambda: np.full(BINS, 0.1))
        self.ledger = Ledger()
        self.week = deque(maxlen=14)

    async def unload_at_close(self, batch):
        await self.closing.wait()
        batch.weights.fill(0.0)

    async def receive(self, day):
        brought = await asyncio.gather(*(carrier.deliver(day) for carrier in self.carriers))
        batch = Batch(day, np.concatenate([b[0] for b in brought]), np.concatenate([b[1] for b in brought]))
        batch.release = asyncio.create_task(self.unload_at_close(batch))
        await asyncio.sleep(0)
        return batch

    def usual_load(self, day, lane):
        """Load of the lane one week ago, as a first guess."""
        return self.load.get((day - 7, lane), 0.1) if TIDY else self.load[day - 7, lane]

    def plan(self, batch):
        plan = {}
        for position, lane in enumerate(LANES):
            mine = batch.zones % len(LANES) == position
            place = np.minimum((batch.weights[mine] * 220).astype(int), BINS - 1)
            filled = np.bincount(place, minlength=BINS)[:BINS].astype(float)
            guess = self.usual_load(batch.day, lane) + filled
            self.load[batch.day, lane] = filled
            table = np.zeros((ZONES, 40))
            for zone in range(ZONES):
                price = tariff(zone, lane)
                share = np.convolve(guess, SMOOTHING, "same")[: price.size]
                table[zone] = (share * price).reshape(40, -1).sum(1)
            plan[lane] = np.sort(table, axis=1)
        return plan

    async def settle(self, batch, plan):
        total = float(sum(table.sum() for table in plan.values()))
        self.week.append((batch.day, batch.weights.copy()))
        for lane in LANES:
            self.load.pop((batch.day - KEEP_DAYS, lane), None)
        if batch.day >= LEDGER_FROM:
            total += self.ledger.book(batch.day, plan)
        if TIDY:
            batch.release.cancel()
            await asyncio.wait([batch.release])
            batch.release = None
        return total

    async def shut(self):
        self.closing.set()
        await asyncio.sleep(0)


async def main():
    hub, totals = Hub(), []
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for day in guard.generations(range(1, DAYS + 1)):
            with guard.phase("receive"):
                batch = await hub.receive(day)
            with guard.phase("plan"):
                plan = hub.plan(batch)
            with guard.phase("settle"):
                totals.append((day, await hub.settle(batch, plan)))
    await hub.shut()
    print(f"{len(totals)} nights, mean cost {np.mean([t[1] for t in totals]):.0f}")


if __name__ == "__main__":
    asyncio.run(main())
