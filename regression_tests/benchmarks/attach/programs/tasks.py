"""An asyncio program whose tasks put their results into a cache, which is bounded or not."""

import asyncio
import itertools
import sys

LEAKS = sys.argv[1] == "leak"


class Answer:
    def __init__(self, number):
        self.number, self.parts = number, [f"{number}:{part}" for part in range(30)]


cache = {}


async def work(number):
    await asyncio.sleep(0.03)
    cache[number if LEAKS else number % 20] = Answer(number)


async def main():
    for number in itertools.count(0, 10):
        await asyncio.gather(*(work(number + extra) for extra in range(10)))


asyncio.run(main())
