"""Threads, descriptors and tasks that pile up now and then, or late."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import threading
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Service:
    def __init__(self) -> None:
        self.stop = threading.Event()
        self.watchers: list[threading.Thread] = []
        self.pending: set[asyncio.Task[None]] = set()
        self.selector = selectors.DefaultSelector()


@leaking("reload", type="Thread Event Condition", kind="threads", start=4, within=4)
def a_thread_every_fourth_generation(guard: Any, leak: bool) -> None:
    service = Service()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("reload"):
            if generation % 4 == 0:
                stop = service.stop if leak else threading.Event()
                watcher = threading.Thread(target=stop.wait, daemon=True)
                watcher.start()
                if not leak:
                    stop.set()
                    watcher.join()
                del watcher, stop
            pace(15)
        with guard.phase("serve"):
            pace(15)
    service.stop.set()


@leaking("read", kind="files", start=3, within=3)
def a_descriptor_every_third_generation(guard: Any, leak: bool) -> None:
    for generation in guard.generations(range(1, 91)):
        with guard.phase("read"):
            if generation % 3 == 0:
                descriptor = os.open(os.devnull, os.O_RDONLY)
                if not leak:
                    os.close(descriptor)
            pace(20)
        with guard.phase("parse"):
            pace(15)


@leaking(
    "spawn",
    type="Task coroutine bytearray Future",
    kind="tasks",
    start=41,
    within=4,
    size=6 * 9_500,
)
def tasks_from_generation_forty(guard: Any, leak: bool) -> None:
    async def wait(event: asyncio.Event) -> None:
        buffer = bytearray(8_000)
        await event.wait()
        buffer.clear()

    async def serve() -> None:
        service = Service()
        never = asyncio.Event()
        for generation in guard.generations(range(1, 81)):
            with guard.phase("spawn"):
                stuck = leak and generation > 40
                event = never if stuck else asyncio.Event()
                for _ in range(6):
                    task = asyncio.create_task(wait(event))
                    service.pending.add(task)
                    task.add_done_callback(service.pending.discard)
                await asyncio.sleep(0)
                if not stuck:
                    event.set()
                    await asyncio.sleep(0.001)
                del task
                pace(20)
            with guard.phase("poll"):
                await asyncio.sleep(0.01)
                pace(10)
        never.set()
        await asyncio.sleep(0.001)

    asyncio.run(serve())


@leaking("accept", type="socket SelectorKey", kind="files", start=6, within=6)
def a_connection_every_sixth_generation(guard: Any, leak: bool) -> None:
    service = Service()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("accept"):
            if generation % 6 == 0:
                ours, theirs = socket.socketpair()
                service.selector.register(ours, selectors.EVENT_READ)
                theirs.close()
                if not leak:
                    service.selector.unregister(ours)
                    ours.close()
                del ours, theirs
            pace(15)
        with guard.phase("answer"):
            pace(10)
