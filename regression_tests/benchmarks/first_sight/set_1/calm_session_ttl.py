"""An asyncio shop: sessions arrive at random, live for 30 ticks and expire by a heap."""
# /// truth
# about = "sessions with a time to live: as many as arrive in 30 ticks, give or take"
# ///
import asyncio
import heapq
import itertools
import os
import sys

import numpy as np

from leakguard import LeakGuard, phase

assert sys.argv[1] == "clean"
GENERATIONS = 190


class Session:
    def __init__(self, number):
        self.number = number
        self.basket = []
        self.token = os.urandom(32).hex()
        self.pages = self.browse()
        next(self.pages)

    def browse(self):
        page = [0] * 500
        while True:
            item = yield sum(page)
            page[item % 500] += item


class Shop:
    def __init__(self):
        self.rng = np.random.default_rng(61)
        self.sessions = {}
        self.deadlines = []
        self.numbers = itertools.count()

    @phase("arrive")
    async def arrive(self, tick):
        for _ in range(self.rng.poisson(9)):
            session = Session(next(self.numbers))
            self.sessions[session.number] = session
            heapq.heappush(self.deadlines, (tick + 30, session.number))
        await asyncio.sleep(0)

    async def visit(self, session, item):
        await asyncio.sleep(0)
        if len(session.basket) < 20:
            session.basket.append(item)
        return session.pages.send(item)

    @phase("visit")
    async def visits(self):
        sessions = list(self.sessions.values())
        picks = self.rng.integers(len(sessions), size=2400)
        items = self.rng.integers(10_000, size=2400)
        await asyncio.gather(*(self.visit(sessions[p], int(i)) for p, i in zip(picks, items)))

    @phase("expire")
    async def expire(self, tick):
        while self.deadlines and self.deadlines[0][0] <= tick:
            _, number = heapq.heappop(self.deadlines)
            session = self.sessions.pop(number)
            session.pages.close()
        await asyncio.sleep(0)


async def main():
    shop = Shop()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for tick in guard.generations(range(1, GENERATIONS + 1)):
            await shop.arrive(tick)
            await shop.visits()
            await shop.expire(tick)


asyncio.run(main())
