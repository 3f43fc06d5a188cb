"""Resources: threads, files, sockets, tasks, children and memory of C code stay."""

from __future__ import annotations

import asyncio
import ctypes
import mmap
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class Gateway:
    def __init__(self) -> None:
        self.files: list[Any] = []
        self.sockets: list[socket.socket] = []
        self.workers: list[threading.Thread] = []
        self.pending: set[asyncio.Task[None]] = set()
        self.children: list[subprocess.Popen[bytes]] = []
        self.segments: list[mmap.mmap] = []


@leaking("open", type="TextIOWrapper BufferedReader FileIO", holder=".files", kind="files")
def open_files(guard: Any, leak: bool) -> None:
    gateway = Gateway()
    for _ in guard.generations(ROUNDS):
        with guard.phase("open"):
            for _ in range(3):
                file = Path(os.devnull).open()  # noqa: SIM115
                gateway.files.append(file)
            if not leak:
                for file in gateway.files:
                    file.close()
                gateway.files.clear()
            del file
            work()
        with guard.phase("parse"):
            work()


@leaking("connect", type="socket", holder=".sockets", kind="files")
def open_sockets(guard: Any, leak: bool) -> None:
    gateway = Gateway()
    for _ in guard.generations(ROUNDS):
        with guard.phase("connect"):
            for _ in range(2):
                gateway.sockets.extend(socket.socketpair())
            if not leak:
                while gateway.sockets:
                    gateway.sockets.pop().close()
            work()
        with guard.phase("exchange"):
            work()


@leaking("dispatch", type="Thread", kind="threads instances container")
def threads_never_joined(guard: Any, leak: bool) -> None:
    gateway = Gateway()
    stop = threading.Event()
    for _ in guard.generations(ROUNDS):
        with guard.phase("dispatch"):
            for _ in range(2):
                done = stop if leak else threading.Event()
                worker = threading.Thread(target=done.wait, daemon=True)
                worker.start()
                gateway.workers.append(worker)
                if not leak:
                    done.set()
                    gateway.workers.pop().join()
            del worker
            work()
        with guard.phase("collect"):
            work()
    stop.set()


@leaking("spawn", type="Task coroutine", kind="tasks instances container")
def tasks_never_finished(guard: Any, leak: bool) -> None:
    async def wait(event: asyncio.Event) -> None:
        buffer = bytearray(10_000)
        await event.wait()
        buffer.clear()

    async def serve() -> None:
        gateway = Gateway()
        never = asyncio.Event()
        for _ in guard.generations(ROUNDS):
            with guard.phase("spawn"):
                event = never if leak else asyncio.Event()
                for _ in range(10):
                    task = asyncio.create_task(wait(event))
                    gateway.pending.add(task)
                    task.add_done_callback(gateway.pending.discard)
                await asyncio.sleep(0)
                if not leak:
                    event.set()
                    await asyncio.gather(*gateway.pending)
                del task
                work()
            with guard.phase("poll"):
                await asyncio.sleep(0.01)
        never.set()
        await asyncio.sleep(0)

    asyncio.run(serve())


@leaking("convert", type="Popen", holder=".children", kind="children instances container")
def children_never_waited_for(guard: Any, leak: bool) -> None:
    gateway = Gateway()
    for _ in guard.generations(ROUNDS):
        with guard.phase("convert"):
            child = subprocess.Popen([sys.executable, "-S", "-c", ""], stdin=subprocess.DEVNULL)
            if leak:
                gateway.children.append(child)
            else:
                child.wait()
            del child
            work()
        with guard.phase("upload"):
            work()


@leaking("map", type="mmap", holder=".segments")
def segments_never_unmapped(guard: Any, leak: bool) -> None:
    gateway = Gateway()
    for _ in guard.generations(ROUNDS):
        with guard.phase("map"):
            segment = mmap.mmap(-1, 1_000_000)
            segment.write(b"\1" * 1_000_000)
            if leak:
                gateway.segments.append(segment)
            else:
                segment.close()
            del segment
            work()
        with guard.phase("decode"):
            work()


@leaking("encode", kind="native memory")
def native_allocation(guard: Any, leak: bool) -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    for _ in guard.generations(ROUNDS):
        with guard.phase("read"):
            work()
        with guard.phase("encode"):
            for _ in range(20):
                block = libc.malloc(100_000)
                libc.memset(block, 1, 100_000)
                if not leak:
                    libc.free(block)
            work()
