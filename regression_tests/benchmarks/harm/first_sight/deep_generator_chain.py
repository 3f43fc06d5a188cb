"""Deep structures: a chain of 300 suspended generators goes on where it stood, and each is closed once, in order."""

import time
from collections.abc import Generator

from regression_tests.benchmarks.harm.stage import watched

closed: list[int] = []
undone: list[Generator[int, None, None]] = []


def link(depth: int) -> Generator[int, None, None]:
    try:
        if depth:
            yield from link(depth - 1)
        else:
            n = 0
            while True:
                yield n
                n += 1
    finally:
        closed.append(depth)


def begun(number: int) -> Generator[int, None, None]:
    try:
        yield number
    finally:
        closed.append(-1)


def main() -> None:
    chain = link(300)
    said = []
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            said.append(next(chain))
            for k in range(200):
                generator = begun(k)
                next(generator)
                undone.append(generator)  # suspended for good
                del generator
            said.append(len(closed))
    print(said)
    chain.close()
    print(closed == list(range(301)))
    undone.clear()
    print(len(closed))


main()
