"""An asyncio evaluation service: requests come in batches, a future per request."""
import asyncio
import sys
import uuid
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
guard = LeakGuard(out=f"s06.{'clean' if CLEAN else 'leaky'}.jsonl")


class EvalService:
    def __init__(self):
        self.queue = asyncio.Queue()
        self._pending = {}
        self.w = np.random.default_rng(0).normal(size=(64, 512)).astype(np.float32)

    async def submit(self, features):
        request_id = uuid.uuid4().hex
        future = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        await self.queue.put((request_id, features))
        try:
            return await asyncio.wait_for(asyncio.shield(future), 2)
        except asyncio.TimeoutError:
            self._pending.pop(request_id, None)
            raise

    @guard.phase("serve")
    async def drain(self):
        n = 0
        while not self.queue.empty():
            request_id, features = await self.queue.get()
            scores = np.tanh(features @ self.w)
            if CLEAN:
                self._pending.pop(request_id).set_result(scores)
            else:
                self._pending[request_id].set_result(scores)
            n += 1
        return n


async def traffic(rounds):
    for r in range(rounds):
        yield [np.random.rand(8, 64).astype(np.float32) for _ in range(40)]


async def main():
    service = EvalService()
    with guard:
        async for batch in guard.generations(traffic(60)):
            calls = [asyncio.create_task(service.submit(f)) for f in batch]
            await asyncio.sleep(0.02)
            await service.drain()
            answers = await asyncio.gather(*calls)
            with guard.phase("score"):
                best = max(float(a.max()) for a in answers)
    print("best", best)


asyncio.run(main())
