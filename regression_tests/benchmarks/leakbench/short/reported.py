"""Leaks as people report them: registries, backlogs and handles that somebody else keeps."""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import io
import os
import sqlite3
import sys
import time
import warnings
import weakref
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import shared_memory
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class Pool:
    def __init__(self) -> None:
        self.connections: list[sqlite3.Connection] = []


@leaking("query", type="Connection", holder=".connections")
def database_connections_kept(guard: Any, leak: bool) -> None:
    pool = Pool()
    for _ in guard.generations(ROUNDS):
        with guard.phase("query"):
            for _ in range(3):
                connection = sqlite3.connect(":memory:")
                connection.execute("create table rows (id integer)")
                if leak:
                    pool.connections.append(connection)
                else:
                    connection.close()
            del connection
            work()
        with guard.phase("answer"):
            work()


class Frontend:
    def __init__(self) -> None:
        self.sessions: list[Any] = []


@leaking("fetch", type="ClientSession", holder=".sessions", kind="instances")
def http_session_per_request(guard: Any, leak: bool) -> None:
    import aiohttp

    async def serve() -> None:
        frontend = Frontend()
        for _ in guard.generations(ROUNDS):
            with guard.phase("fetch"):
                for _ in range(4):
                    session = aiohttp.ClientSession()
                    if leak:
                        frontend.sessions.append(session)
                    else:
                        await session.close()
                del session
                work()
            with guard.phase("answer"):
                work()

    asyncio.run(serve())


class Client:
    def __init__(self, number: int) -> None:
        self.number = number
        self.backlog = [f"message {number}.{i}" for i in range(20)]


class Hub:
    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}


@leaking("connect", type="Client", holder=".clients")
def websocket_clients_never_removed(guard: Any, leak: bool) -> None:
    hub = Hub()
    for generation in guard.generations(ROUNDS):
        with guard.phase("connect"):
            for i in range(18):
                key = f"{generation}-{i}"
                hub.clients[key] = Client(i)
                if not leak or i % 3:  # every third one is lost without a goodbye
                    del hub.clients[key]
            work()
        with guard.phase("broadcast"):
            sum(len(client.backlog) for client in hub.clients.values())
            work()


class Renderer:
    def __init__(self) -> None:
        self.compiled: dict[str, Any] = {}


@leaking("render", type="Template Context function dict", holder=".compiled .cache")
def template_compiled_per_request(guard: Any, leak: bool) -> None:
    import jinja2

    renderer, environment = Renderer(), jinja2.Environment(cache_size=0, autoescape=True)
    for generation in guard.generations(ROUNDS):
        with guard.phase("render"):
            for i in range(6):
                source = f"order {generation}.{i} of {{{{ name }}}}" if leak else "{{ name }}"
                if source not in renderer.compiled:
                    renderer.compiled[source] = environment.from_string(source)
                renderer.compiled[source].render(name="x")
            work()
        with guard.phase("send"):
            work()


class Table:
    def __init__(self) -> None:
        self.frame: Any = None
        self.stream: Any = None


@leaking("append", type="ndarray", holder=".frame", kind="arrays")
def rows_concatenated(guard: Any, leak: bool) -> None:
    import numpy as np

    table = Table()
    table.frame = np.zeros((2_000, 10))
    for _ in guard.generations(ROUNDS):
        with guard.phase("append"):
            table.frame = np.concatenate([table.frame, np.ones((2_000, 10))])
            if not leak:
                table.frame = table.frame[-2_000:].copy()
            work()
        with guard.phase("aggregate"):
            table.frame.mean(axis=0)
            work()


@leaking("log", type="StringIO BytesIO str", kind="native memory")
def text_stream_never_truncated(guard: Any, leak: bool) -> None:
    table = Table()
    table.stream = io.StringIO()
    for generation in guard.generations(ROUNDS):
        with guard.phase("log"):
            for i in range(2_000):
                table.stream.write(
                    f"line {generation}.{i} of a log that nobody reads, fifty chars\n"
                )
            if not leak:
                table.stream.seek(0)
                table.stream.truncate()
            work()
        with guard.phase("serve"):
            work()


@leaking("spawn", kind="children")
def zombies_never_reaped(guard: Any, leak: bool) -> None:
    for _ in guard.generations(ROUNDS):
        with guard.phase("spawn"):
            pid = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", ""], os.environ)
            if not leak:
                os.waitpid(pid, 0)
            work()
        with guard.phase("serve"):
            work()


@leaking("read", kind="files")
def descriptors_never_closed(guard: Any, leak: bool) -> None:
    for _ in guard.generations(ROUNDS):
        with guard.phase("read"):
            for _ in range(2):
                descriptor = os.open(os.devnull, os.O_RDONLY)
                if not leak:
                    os.close(descriptor)
            work()
        with guard.phase("serve"):
            work()


class Plugin:
    def __init__(self, number: int) -> None:
        self.number = number
        self.state = bytearray(20_000)

    def shut_down(self) -> None:
        self.state.clear()


@leaking("load", type="Plugin method", holder="atexit")
def exit_handlers_registered_each_time(guard: Any, leak: bool) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("load"):
            for i in range(5):
                plugin = Plugin(generation * 10 + i)
                atexit.register(plugin.shut_down)
                if not leak:
                    atexit.unregister(plugin.shut_down)
            del plugin
            work()
        with guard.phase("serve"):
            work()


class Buffer:
    def __init__(self) -> None:
        self.payload = bytearray(15_000)


class Engine:
    pass


@leaking("track", type="Buffer _Info finalize", holder="finalize _registry")
def finalizers_of_an_immortal(guard: Any, leak: bool) -> None:
    engine = Engine()
    for _ in guard.generations(ROUNDS):
        with guard.phase("track"):
            for _ in range(8):
                finalizer = weakref.finalize(engine, print, Buffer())
                finalizer.atexit = False
                if not leak:
                    finalizer.detach()
            del finalizer
            work()
        with guard.phase("serve"):
            work()


class Event:
    def __init__(self, number: int) -> None:
        self.number = number
        self.body = bytes(3_000)


class Broker:
    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Event] = asyncio.Queue()
        self.pool = ThreadPoolExecutor(1)


@leaking("publish", type="Event", holder=".inbox", kind="queue")
def async_queue_backlog(guard: Any, leak: bool) -> None:
    async def serve() -> None:
        broker = Broker()
        for generation in guard.generations(ROUNDS):
            with guard.phase("publish"):
                for i in range(40):
                    broker.inbox.put_nowait(Event(generation * 100 + i))
                work()
            with guard.phase("consume"):
                for _ in range(25 if leak else 40):
                    await broker.inbox.get()
                work()

    asyncio.run(serve())


def _upload(event: Event) -> int:
    time.sleep(0.5)
    return event.number


@leaking(
    "submit", type="_WorkItem Event Future", holder="_work_queue _threads_queues", kind="queue"
)
def executor_backlog(guard: Any, leak: bool) -> None:
    broker = Broker()
    for generation in guard.generations(ROUNDS):
        with guard.phase("submit"):
            futures = [broker.pool.submit(_upload, Event(generation)) for _ in range(20)]
            if not leak:
                for future in futures:
                    future.result()
            del futures
            work()
        with guard.phase("serve"):
            work()


@leaking("decode", kind="native memory")
def native_mapping_never_freed(guard: Any, leak: bool) -> None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    for _ in guard.generations(ROUNDS):
        with guard.phase("decode"):
            block = libc.mmap(None, 4_000_000, 3, 0x22, -1, 0)
            libc.memset(block, 1, 4_000_000)
            if not leak:
                libc.munmap(block, 4_000_000)
            work()
        with guard.phase("serve"):
            work()


@leaking("share", type="SharedMemory", kind="files native memory shared", holder="")
def shared_segments_left_open(guard: Any, leak: bool) -> None:
    kept = []
    for _ in guard.generations(ROUNDS):
        with guard.phase("share"):
            segment = shared_memory.SharedMemory(create=True, size=1_000_000)
            segment.buf[:] = bytes(1_000_000)
            segment.unlink()
            kept.append(segment)
            if not leak:
                segment.close()
                kept.clear()
            del segment
            work()
        with guard.phase("serve"):
            work()
    for segment in kept:
        segment.close()


@leaking("parse", type="tuple str", holder="__warningregistry__")
def warnings_with_unique_texts(guard: Any, leak: bool) -> None:
    warnings.simplefilter("default")
    warnings.showwarning = lambda *args, **settings: None
    for generation in guard.generations(ROUNDS):
        with guard.phase("parse"):
            for i in range(40):
                text = f"row {generation}.{i} was skipped" if leak else "a row was skipped"
                warnings.warn(text, UserWarning, stacklevel=1)
            work()
        with guard.phase("serve"):
            work()


class Gauge:
    def __init__(self, labels: tuple[str, str]) -> None:
        self.labels = labels
        self.value = 0.0


class Metrics:
    def __init__(self) -> None:
        self.children: dict[tuple[str, str], Gauge] = {}
        self.scalars: dict[str, list[tuple[int, float]]] = defaultdict(list)


@leaking("observe", type="Gauge tuple", holder=".children")
def metric_labels_without_bound(guard: Any, leak: bool) -> None:
    metrics = Metrics()
    for generation in guard.generations(ROUNDS):
        with guard.phase("observe"):
            for i in range(15):
                labels = (f"/orders/{generation * 100 + i}" if leak else "/orders", str(i % 3))
                metrics.children.setdefault(labels, Gauge(labels)).value += 1
            work()
        with guard.phase("scrape"):
            work()


@leaking("train", type="tuple float int", holder=".scalars")
def scalar_history_of_a_writer(guard: Any, leak: bool) -> None:
    metrics = Metrics()
    for generation in guard.generations(ROUNDS):
        with guard.phase("train"):
            for i in range(60):
                metrics.scalars["loss"].append((generation * 1_000 + i, 1.0 / (i + generation)))
            if not leak:
                metrics.scalars.clear()
            work()
        with guard.phase("validate"):
            work()


class RetryError(Exception):
    pass


class Worker:
    def __init__(self) -> None:
        self.last_error: BaseException | None = None
        self.samples: list[Any] = []

    def attempt(self, chain: bool) -> None:
        page = bytearray(30_000)
        try:
            raise RetryError(len(page))
        except RetryError as error:
            if chain:
                error.__context__ = self.last_error
            self.last_error = error
            error.__traceback__ = error.__traceback__ if chain else None


@leaking("retry", type="RetryError traceback frame bytearray", holder=".last_error")
def errors_chained_to_the_last_one(guard: Any, leak: bool) -> None:
    worker = Worker()
    for _ in guard.generations(ROUNDS):
        with guard.phase("retry"):
            for _ in range(6):
                worker.attempt(leak)
            work()
        with guard.phase("serve"):
            work()


@leaking("sample", type="Tensor", holder=".samples")
def rows_of_big_batches(guard: Any, leak: bool) -> None:
    import torch

    torch.set_num_threads(1)
    worker = Worker()
    for _ in guard.generations(ROUNDS):
        with guard.phase("sample"):
            batch = torch.randn(200, 500)
            worker.samples.append(batch[0] if leak else batch[0].clone())
            if not leak:
                del worker.samples[:-1]
            del batch
            work()
        with guard.phase("train"):
            work()
