"""Deep structures: a doubly linked list of 300,000 nodes, freed from its end on, has its order and its weak ends."""

import weakref
from typing import Optional

from regression_tests.benchmarks.harm.stage import watched


class Node:
    __slots__ = ("value", "next", "_before", "__weakref__")

    def __init__(self, value: int, before: "Optional[Node]") -> None:
        self.value, self.next = value, None
        self._before = weakref.ref(before) if before is not None else None
        if before is not None:
            before.next = self  # type: ignore[assignment]


def main() -> None:
    first = last = Node(0, None)
    for value in range(1, 200_000):
        last = Node(value, last)
    with watched() as guard:
        for number in guard.generations(range(20)):
            for value in range(5000):
                last = Node(200_000 + number * 5000 + value, last)
    length, node = 0, first
    dead = 0
    while node is not None:
        length += 1
        dead += node._before is not None and node._before() is None
        node = node.next  # type: ignore[assignment]
    print(length, dead)
    freed: list[int] = []
    while first.value < 50:
        weakref.finalize(first, freed.append, first.value)
        first = first.next  # type: ignore[assignment]
    print(freed == list(range(50)), first.value)
    while first.next is not None:  # from the front, lest the interpreter recurses
        first = first.next


main()
