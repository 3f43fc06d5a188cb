"""Cycles that the collector never takes."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Node:
    def __init__(self, parent: Node | None = None) -> None:
        self.parent = parent
        self.payload = bytearray(2_000)
        self.children = [Node(self), Node(self)] if parent is None else []

    def take_apart(self) -> None:
        for child in self.children:
            child.parent = None


def _trees(count: int, leak: bool) -> list[Node]:
    """Return trees of three; the fixed ones do not point back."""
    trees = [Node() for _ in range(count)]
    if not leak:
        for tree in trees:
            tree.take_apart()
    return trees


TREE = 3 * 2_250
"""Bytes of a tree: three nodes with their payload and their list of children."""


@leaking("search", type="Node", kind="cycles", within=4, size=15 * TREE)
def collector_switched_off(guard: Any, leak: bool) -> None:
    gc.disable()
    for _ in guard.generations(range(1, 81)):
        with guard.phase("search"):
            trees = _trees(15, leak)
            pace(20)
            del trees
        with guard.phase("act"):
            pace(20)


@leaking("search", type="Node", kind="cycles", within=12, size=15 * TREE)
def oldest_generation_never_reached(guard: Any, leak: bool) -> None:
    book = [[i] for i in range(300_000)]
    gc.collect()
    recent: deque[list[Node]] = deque(maxlen=8)
    for _ in guard.generations(range(1, 91)):
        with guard.phase("search"):
            recent.append(_trees(15, leak))
            pace(20)
        with guard.phase("act"):
            passing = [[i] for i in range(1_500)]  # enough for the younger generations to be taken
            pace(20)
            del passing
    del book


@leaking("search fork", type="Node", kind="cycles instances", within=4, size=10 * TREE)
def frozen_in_every_generation(guard: Any, leak: bool) -> None:
    for _ in guard.generations(range(1, 81)):
        with guard.phase("search"):
            trees = _trees(10, leak=True)
            pace(20)
        with guard.phase("fork"):
            if leak:
                gc.freeze()
            del trees
            if not leak:
                gc.collect(1)
            pace(20)


class Agent:
    def __init__(self, size: int) -> None:
        import numpy as np

        self.cells = np.empty(size, dtype=object)
        self.memory = bytearray(3_000)


@leaking("spawn", type="Agent ndarray bytearray", kind="cycles", start=3, within=4,
         size=30 * 4_300 / 3)  # fmt: skip
def cycle_through_an_object_array(guard: Any, leak: bool) -> None:
    Agent(1)  # what numpy's first import takes is no part of the loop
    for generation in guard.generations(range(1, 101)):
        with guard.phase("spawn"):
            if generation % 3 == 0:
                for _ in range(30):
                    agent = Agent(100)
                    agent.cells[0] = agent if leak else None
                del agent
            pace(15)
        with guard.phase("act"):
            pace(20)
