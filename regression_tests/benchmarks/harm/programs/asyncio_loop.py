"""Threads: coroutines, asynchronous generators and contexts must end in their loop, in order."""

import asyncio
import contextvars
import time

from regression_tests.benchmarks.harm.stage import event, watched

request = contextvars.ContextVar("request", default=None)


class Sample:
    pass


async def numbers():
    try:
        for number in range(10):
            yield number
            await asyncio.sleep(0)
    finally:
        event("closed in", asyncio.get_running_loop().is_running(), request.get())


async def task(number):
    request.set(number)
    async for each in numbers():
        if each == 3:
            break
    await asyncio.sleep(0.01)
    return request.get()


async def main(guard):
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        event(number, await asyncio.gather(*(task(number * 10 + each) for each in range(3))))
        await asyncio.sleep(0.05)


kept = []
with watched() as guard:
    asyncio.run(main(guard))
time.sleep(0.01)
