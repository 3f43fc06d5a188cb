"""An asyncio inference service: each request starts a timeout watcher that nobody cancels."""
import asyncio
import sys
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Service:
    def __init__(self):
        self.weights = np.random.rand(256, 256)
        self.watchers = set()

    async def expire(self, request):
        await asyncio.sleep(3600)
        print("late", request.shape)

    async def answer(self, request):
        watcher = asyncio.create_task(self.expire(request))
        self.watchers.add(watcher)
        watcher.add_done_callback(self.watchers.discard)
        result = request @ self.weights
        await asyncio.sleep(0)
        if CLEAN:
            watcher.cancel()
        return float(result.sum())


async def traffic(n):
    for minute in range(n):
        await asyncio.sleep(0.01)
        yield minute


async def main():
    service = Service()
    guard = LeakGuard(out=f"inference_service{'_clean' if CLEAN else ''}.jsonl")
    with guard:
        async for minute in guard.generations(traffic(10)):
            async with asyncio.TaskGroup() as group:
                for _ in range(30):
                    group.create_task(service.answer(np.random.rand(64, 256)))


asyncio.run(main())
