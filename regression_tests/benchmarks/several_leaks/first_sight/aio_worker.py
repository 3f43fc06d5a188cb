"""An asyncio worker that takes jobs from a queue in rounds."""
import asyncio
import os
import sys
from collections import OrderedDict, deque

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"


class Job:
    def __init__(self, number):
        self.number = number
        self.result = None

    async def work(self):
        await asyncio.sleep(0.01)
        self.result = os.urandom(4000)


class Broker:
    def __init__(self):
        self.queue = asyncio.Queue()
        self.done = [] if LEAK else deque(maxlen=40)
        self.listeners = []
        self.replies = OrderedDict()

    async def consume(self):
        while True:
            job = await self.queue.get()
            await job.work()
            self.done.append(job)
            self.queue.task_done()

    def subscribe(self, topic):
        snapshot = topic * 3000
        listener = lambda event: event in snapshot
        self.listeners.append(listener)
        return listener

    def acknowledge(self, key):
        self.replies[key] = "ok " + os.urandom(300).hex()
        if not LEAK and len(self.replies) > 150:
            self.replies.popitem(last=False)


async def main():
    broker = Broker()
    workers = [asyncio.create_task(broker.consume()) for _ in range(5)]
    with LeakGuard(out=sys.argv[2]) as guard:
        for round_ in guard.generations(range(35)):
            with guard.phase("subscribe"):
                listener = broker.subscribe(f"topic-{round_:05d}")
            with guard.phase("process"):
                for number in range(25):
                    broker.queue.put_nowait(Job(number))
                await broker.queue.join()
            with guard.phase("acknowledge"):
                for number in range(100):
                    broker.acknowledge(f"{round_}/{number}")
                await asyncio.sleep(0.06)
            if not LEAK:
                broker.listeners.remove(listener)
    for worker in workers:
        worker.cancel()


asyncio.run(main())
