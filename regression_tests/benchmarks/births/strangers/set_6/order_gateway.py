import asyncio
import random
import sqlite3
import sys
from collections import deque
from dataclasses import dataclass, field

from leakguard import LeakGuard

MODE = sys.argv[1]
random.seed(5)


@dataclass
class Order:
    number: int
    price: float
    body: bytes
    finished: asyncio.Event = field(default_factory=asyncio.Event)


class ConnectionPool:
    def __init__(self, size=8):
        self.free = [bytearray(65_536) for _ in range(size)]
        self.cond = asyncio.Condition()

    async def acquire(self):
        async with self.cond:
            while not self.free:
                await self.cond.wait()
            return self.free.pop()

    async def release(self, conn):
        async with self.cond:
            self.free.append(conn)
            self.cond.notify()


class Audit:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table trail (number integer primary key, status text, note text)")

    def write(self, rows):
        self.db.executemany("insert into trail values (?, ?, ?)", rows)
        if MODE == "fixed":
            last = rows[-1][0]
            self.db.execute("delete from trail where number < ?", (last - 600,))
        self.db.commit()

    def rejected(self):
        sql = "select count(*) from trail where status = 'rejected'"
        return self.db.execute(sql).fetchone()[0]


class Gateway:
    def __init__(self):
        self.pool = ConnectionPool()
        self.audit = Audit()
        self.watchers = set()
        self.recent = deque(maxlen=500)
        self.late = 0

    async def watch(self, order):
        await order.finished.wait()
        if order.price < 0:
            self.late += 1

    def accept(self, order):
        task = asyncio.create_task(self.watch(order))
        self.watchers.add(task)
        task.add_done_callback(self.watchers.discard)

    async def execute(self, order):
        conn = await self.pool.acquire()
        try:
            conn[: len(order.body)] = order.body
            await asyncio.sleep(0.001)
            if order.price > 95:
                if MODE == "fixed":
                    order.finished.set()
                return order.number, "rejected", "limit " * 60
            order.finished.set()
            return order.number, "filled", "at market " * 36
        finally:
            await self.pool.release(conn)

    async def serve(self, orders):
        for order in orders:
            self.accept(order)
        rows = await asyncio.gather(*(self.execute(o) for o in orders))
        self.recent.extend(r[0] for r in rows)
        return sorted(rows)


async def main():
    gateway = Gateway()
    number = 0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for wave in guard.generations(range(1, 81)):
            orders = []
            for _ in range(150):
                number += 1
                body = random.randbytes(6_000)
                orders.append(Order(number, random.uniform(0, 100), body))
            with guard.phase("serve"):
                rows = await gateway.serve(orders)
            with guard.phase("audit"):
                gateway.audit.write(rows)
            await asyncio.sleep(0.06)
    print("orders", number, "rejected", gateway.audit.rejected())
    for task in list(gateway.watchers):
        task.cancel()


asyncio.run(main())
