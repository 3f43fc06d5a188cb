"""An asyncio worker that takes batches of documents, decodes, scores and acknowledges them."""
import asyncio
import collections
import json
import random
import zlib


class BadDocument(Exception):
    pass


class Receipt:
    def __init__(self, job_id, digest, echo):
        self.job_id = job_id
        self.digest = digest
        self.echo = echo


class EventBus:
    def __init__(self):
        self.handlers = collections.defaultdict(list)

    def on(self, name, handler):
        self.handlers[name].append(handler)

    def emit(self, name, *args):
        for handler in self.handlers[name]:
            handler(*args)


class Connection:
    def __init__(self, number):
        self.number = number
        self.buffer = bytearray(64 * 1024)


class Pool:
    """Connections are opened when they are first needed, at most twelve."""

    def __init__(self):
        self.idle = []
        self.opened = 0
        self.gate = asyncio.Semaphore(12)

    async def acquire(self):
        await self.gate.acquire()
        if not self.idle:
            self.opened += 1
            self.idle.append(Connection(self.opened))
        return self.idle.pop()

    def release(self, conn):
        self.idle.append(conn)
        self.gate.release()


def make_job(rng, job_id):
    words = [f"w{rng.randint(0, 4000)}" for _ in range(420)]
    doc = {"id": job_id, "words": words, "weights": [rng.random() for _ in range(420)]}
    blob = zlib.compress(json.dumps(doc).encode())
    if job_id % 9 == 4:
        blob = zlib.compress(json.dumps(doc).encode()[:-7])
    return job_id, blob


class Worker:
    def __init__(self):
        self.bus = EventBus()
        self.pool = Pool()
        self.jobs = asyncio.Queue(maxsize=64)
        self.audit = asyncio.Queue()
        self.failures = []
        self.done = 0
        self.totals = collections.Counter()

    def decode(self, job_id, blob):
        text = zlib.decompress(blob).decode()
        try:
            return json.loads(text)
        except ValueError as err:
            raise BadDocument(f"job {job_id} is cut off") from err

    def score(self, doc):
        table = collections.Counter()
        for word, weight in zip(doc["words"], doc["weights"]):
            table[word] += weight
        return table.most_common(60)

    async def handle(self, job_id, blob):
        conn = await self.pool.acquire()
        try:
            conn.buffer[:len(blob)] = blob
            await asyncio.sleep(0)
            doc = self.decode(job_id, blob)
            await self.acknowledge(job_id, doc)
            return self.score(doc)
        except BadDocument as err:
            self.failures.append(err)
        finally:
            self.pool.release(conn)

    async def acknowledge(self, job_id, doc):
        body = json.dumps({"ok": job_id, "words": doc["words"]}).encode()
        await self.audit.put(Receipt(job_id, zlib.crc32(body), body))

    async def consume(self, out):
        while True:
            job_id, blob = await self.jobs.get()
            scored = await self.handle(job_id, blob)
            if scored is not None:
                out[job_id] = scored
            self.jobs.task_done()

    async def run_batch(self, number, jobs):
        out = {}
        ranked = []

        def on_flush(batch):
            if batch == number:
                ranked.extend(sorted((c[0][1], j) for j, c in out.items()))
                self.totals["flushed"] += len(ranked)

        self.bus.on("flush", on_flush)
        workers = [asyncio.create_task(self.consume(out)) for _ in range(min(12, 2 + number // 2))]
        for job in jobs:
            await self.jobs.put(job)
        await self.jobs.join()
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        self.bus.emit("flush", number)
        self.done += len(jobs)
        return ranked[-1]


async def main():
    rng = random.Random(11)
    worker = Worker()
    top = None
    for number in range(40):
        jobs = [make_job(rng, number * 100 + k) for k in range(90)]
        top = await worker.run_batch(number, jobs)
    print(f"done {worker.done} failed {len(worker.failures)} top {top[0]:.3f} flushed {worker.totals['flushed']}")


if __name__ == "__main__":
    asyncio.run(main())
