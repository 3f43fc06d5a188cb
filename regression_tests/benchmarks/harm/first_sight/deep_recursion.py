"""Recursion near the limit: phases and their looks at the bottom of it raise nothing, and the limit stays."""

import sys
import time

from regression_tests.benchmarks.harm.stage import watched

trees: list[list[object]] = []


def down(guard: object, left: int, number: int) -> int:
    if left:
        return 1 + down(guard, left - 1, number)
    with guard.phase("bottom"):  # type: ignore[attr-defined]
        node: list[object] = []
        for _ in range(500):
            node = [node, number]
        trees.append(node)
    return 0


def main() -> None:
    reached: set[int] = set()
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            for room in (900, 970, 980, 985):
                sys.setrecursionlimit(1000)
                try:
                    reached.add(down(guard, room - 20, number))
                except RecursionError:
                    reached.add(-room)
    print(sorted(reached), sys.getrecursionlimit(), len(trees))
    while trees:
        node = trees.pop()
        while node:
            node = node[0]  # type: ignore[assignment]


main()
