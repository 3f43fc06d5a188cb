"""Thumbnail-like jobs on asyncio workers: fetch bytes, transform, publish; batches of jobs."""
import asyncio
import os
import sys
import zlib

from leakguard import LeakGuard

MODE = sys.argv[1]
BATCHES = 40
JOBS = 24
WORKERS = 4


class Job:
    def __init__(self, number):
        self.number = number
        self.payload = None
        self.digest = None
        self.done = asyncio.Event()


class Backend:
    """Local stand-in for the object store."""

    async def fetch(self, number):
        await asyncio.sleep(0)
        return bytes((number * 31 + i * 7) & 0xFF for i in range(30_000))

    async def publish(self, results, number, digest):
        await asyncio.sleep(0)
        results[number % 128] = digest


class Service:
    def __init__(self):
        self.backend = Backend()
        self.queue = asyncio.Queue(maxsize=16)
        self.results = {}
        self.shutdown = asyncio.Event()
        self.background = set()
        self.slow = 0

    def spawn(self, coro):
        task = asyncio.create_task(coro)
        self.background.add(task)
        task.add_done_callback(self.background.discard)
        return task

    async def watchdog(self, job):
        """Complains about a job that is not done when the service shuts down."""
        await self.shutdown.wait()
        if not job.done.is_set():
            print("job was lost:", job.number)

    async def process(self, job):
        dog = self.spawn(self.watchdog(job))
        job.payload = await self.backend.fetch(job.number)
        compressed = zlib.compress(job.payload, 6)
        job.digest = zlib.crc32(compressed)
        await self.backend.publish(self.results, job.number, job.digest)
        job.done.set()
        if MODE == "fixed":
            dog.cancel()

    async def worker(self):
        while True:
            job = await self.queue.get()
            try:
                await self.process(job)
            finally:
                self.queue.task_done()

    async def run_batch(self, batch):
        for k in range(JOBS):
            await self.queue.put(Job(batch * JOBS + k))
        await self.queue.join()


async def main():
    service = Service()
    workers = [asyncio.create_task(service.worker()) for _ in range(WORKERS)]
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for batch in guard.generations(range(BATCHES)):
            with guard.phase("batch"):
                await service.run_batch(batch)
            with guard.phase("checksum"):
                total = sum(service.results.values()) & 0xFFFFFFFF
                await asyncio.sleep(0)
            if batch % 10 == 0:
                print(f"batch {batch}: {len(service.results)} results, checksum {total:08x}")
    service.shutdown.set()
    await asyncio.sleep(0)
    for w in workers:
        w.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    print("finished")


if __name__ == "__main__":
    asyncio.run(main())
