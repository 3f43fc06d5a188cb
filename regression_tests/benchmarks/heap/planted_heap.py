"""A heap with every shape the scan knows, looked at in every way: food for the sanitizers."""

from __future__ import annotations

import argparse
import collections
import gc

from leakguard.capture import heap


class Node:
    def __init__(self, following: object) -> None:
        self.following = following
        self.values = [following, {"text": "a text"}]


class Slotted:
    __slots__ = ("left", "right")


class ListKind(list):  # type: ignore[type-arg]
    pass


class DictKind(dict):  # type: ignore[type-arg]
    pass


def plant(objects: int) -> list[object]:
    """Return lists, dicts, sets, cycles, closures, generators, chains and half-made instances."""
    chain: object = None
    for _ in range(objects):
        chain = Node(chain)
    planted: list[object] = [chain, Slotted(), ListKind(range(100)), DictKind(a=1)]
    planted += [{number: (number, str(number))} for number in range(objects // 10)]
    planted += [lambda kept=number: kept for number in range(100)]
    planted += [(part for part in planted) for _ in range(10)]
    planted += [collections.deque(range(1000), maxlen=2000), set(range(1000)), frozenset("abc")]
    planted.append(planted)
    return planted


def look(planted: list[object]) -> None:
    """Take two censuses and two deep looks, one of them after the heap changed."""
    assert heap.ENGINE == "compiled"
    heap.census({"nodes": Node}, large=1000)
    first = heap.inspect(targets=planted[:5], large=10_000)
    planted += [Node(None) for _ in range(100)]
    second = heap.inspect(first.memory, targets=planted[-5:], large=10_000)
    assert second.holders
    gc.freeze()
    heap.census()
    gc.unfreeze()
    heap.collect()


def unlink(planted: list[object]) -> None:
    """Take the chain apart from its head: deallocating it whole would recurse in old Pythons."""
    node = planted[0]
    planted.clear()
    while node is not None:
        node.values.clear()  # type: ignore[attr-defined]
        following = node.following  # type: ignore[attr-defined]
        node.following = None  # type: ignore[attr-defined]
        node = following


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=50_000)
    planted_heap = plant(parser.parse_args().objects)
    look(planted_heap)
    unlink(planted_heap)
