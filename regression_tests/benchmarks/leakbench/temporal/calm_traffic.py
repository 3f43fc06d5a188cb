"""Healthy: work in turns, queues that breathe, pools that fill, buffers with room left."""

from __future__ import annotations

import asyncio
import importlib
import random
import socket
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regression_tests.benchmarks.leakbench.program import healthy, pace


class Image:
    def __init__(self, number: int) -> None:
        self.number = number
        self.pixels = bytearray(4_000)


class Sentence:
    def __init__(self, number: int) -> None:
        self.number = number
        self.words = [f"word {i}" for i in range(20)]


class Pool:
    def __init__(self) -> None:
        self.set: list[Any] = []
        self.queue: deque[Image] = deque()
        self.connections: list[socket.socket] = []


@healthy
def working_sets_that_alternate(guard: Any) -> None:
    pool = Pool()
    for generation in guard.generations(range(1, 141)):
        with guard.phase("load"):
            kind = Image if generation // 20 % 2 else Sentence
            if generation % 20 == 0:
                pool.set.clear()
            pool.set.extend(kind(i) for i in range(15))
            pace(15)
        with guard.phase("learn"):
            pace(15)


@healthy
def two_thousand_quick_generations(guard: Any) -> None:
    latest: dict[str, float] = {}
    chance = random.Random(2)
    for generation in guard.generations(range(1, 2001)):
        with guard.phase("step"):
            images = [Image(i) for i in range(chance.randrange(5, 15))]
            pace(3)
        with guard.phase("note"):
            latest["mean"] = len(images) / generation
            del images
            pace(2)


@healthy
def queue_that_breathes(guard: Any) -> None:
    pool = Pool()
    chance = random.Random(7)
    for _ in guard.generations(range(1, 161)):
        with guard.phase("receive"):
            pool.queue.extend(Image(i) for i in range(chance.randrange(0, 31)))
            pace(12)
        with guard.phase("send"):
            for _ in range(min(len(pool.queue), chance.randrange(8, 32))):
                pool.queue.popleft()
            pace(12)


@healthy
def bounded_buffer_with_room_left(guard: Any) -> None:
    replay: deque[Image] = deque(maxlen=10_000)
    for generation in guard.generations(range(1, 91)):
        with guard.phase("collect"):
            replay.extend(Image(generation) for _ in range(60))
            pace(20)
        with guard.phase("train"):
            pace(20)


@healthy
def buffer_that_says_its_capacity(guard: Any) -> None:
    replay: list[Image] = []
    guard.gauge("replay", lambda: len(replay), capacity=8_000)
    for generation in guard.generations(range(1, 91)):
        with guard.phase("collect"):
            replay.extend(Image(generation) for _ in range(60))
            del replay[:-8_000]
            pace(20)
        with guard.phase("train"):
            pace(20)


@healthy
def modules_imported_now_and_then(guard: Any) -> None:
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)
    names = {8: "plistlib", 20: "mailbox", 34: "tarfile", 50: "xmlrpc.client", 61: "imaplib"}
    for generation in guard.generations(range(1, 101)):
        with guard.phase("plugins"):
            if generation in names:
                importlib.import_module(names[generation])
            pace(20)
        with guard.phase("serve"):
            pace(15)


@healthy
def connections_up_to_sixteen(guard: Any) -> None:
    pool = Pool()
    for generation in guard.generations(range(1, 111)):
        with guard.phase("connect"):
            if generation % 6 == 0 and len(pool.connections) < 16:
                pool.connections.extend(socket.socketpair())
            pace(15)
        with guard.phase("exchange"):
            pace(15)


@healthy
def pool_threads_up_to_twelve(guard: Any) -> None:
    gate = threading.Semaphore(0)
    with ThreadPoolExecutor(12) as pool:
        for generation in guard.generations(range(1, 101)):
            with guard.phase("submit"):
                busy = min(12, 1 + generation // 3)
                waiting = [pool.submit(gate.acquire) for _ in range(busy)]
                pace(15)
                gate.release(busy)
                for one in waiting:
                    one.result()
                del waiting, one
            with guard.phase("merge"):
                pace(15)


@healthy
def tasks_drained_every_twelfth(guard: Any) -> None:
    async def serve() -> None:
        event = asyncio.Event()
        pending: set[asyncio.Task[Any]] = set()
        for generation in guard.generations(range(1, 97)):
            with guard.phase("spawn"):
                pending.update(asyncio.create_task(event.wait()) for _ in range(5))
                await asyncio.sleep(0)
                pace(15)
            with guard.phase("drain"):
                if generation % 12 == 0:
                    event.set()
                    await asyncio.gather(*pending)
                    pending.clear()
                    event = asyncio.Event()
                pace(15)
        event.set()
        await asyncio.gather(*pending)

    asyncio.run(serve())
