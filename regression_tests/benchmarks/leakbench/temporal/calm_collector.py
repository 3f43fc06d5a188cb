"""Healthy: garbage that the collector takes in time, and memory that the allocators reuse."""

from __future__ import annotations

import ctypes
import gc
import random
from collections import deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import healthy, pace


class Parent:
    def __init__(self, depth: int) -> None:
        self.payload = bytearray(400)
        self.children = [Child(self, depth) for _ in range(4)]


class Child:
    def __init__(self, parent: Parent, depth: int) -> None:
        self.parent = parent
        self.next = Parent(depth - 1) if depth else None


@healthy
def trees_that_full_collections_take(guard: Any) -> None:
    recent: deque[Parent] = deque(maxlen=80)
    for _ in guard.generations(range(1, 121)):
        with guard.phase("build"):
            for _ in range(20):
                recent.append(Parent(2))
            pace(25)
        with guard.phase("search"):
            pace(20)


@healthy
def trees_collected_by_hand_every_tenth(guard: Any) -> None:
    gc.disable()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("build"):
            for _ in range(3):
                Parent(2)
            pace(20)
        with guard.phase("tidy"):
            if generation % 10 == 0:
                gc.collect()
            pace(20)


@healthy
def small_objects_of_changing_size(guard: Any) -> None:
    chance = random.Random(4)
    held: list[bytes] = []
    for _ in guard.generations(range(1, 121)):
        with guard.phase("exchange"):
            held += [bytes(chance.randrange(16, 480)) for _ in range(2_000)]
            chance.shuffle(held)
            del held[6_000:]
            pace(20)
        with guard.phase("serve"):
            pace(15)


@healthy
def blocks_of_c_reused_in_disorder(guard: Any) -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    chance = random.Random(8)
    blocks: list[int] = []
    for _ in guard.generations(range(1, 101)):
        with guard.phase("exchange"):
            for _ in range(150):
                size = chance.choice((600, 3_000, 20_000))
                blocks.append(libc.malloc(size))
                ctypes.memset(blocks[-1], 1, size)
            chance.shuffle(blocks)
            while len(blocks) > 600:
                libc.free(blocks.pop())
            pace(20)
        with guard.phase("serve"):
            pace(20)
    for block in blocks:
        libc.free(block)
