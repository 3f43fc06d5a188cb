"""Tests that keep no memory, though most of them look as if they did for a while."""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import random
import subprocess
import sys
import threading
import weakref
from collections import deque
from pathlib import Path

import pytest

MB = 1_000_000
SLOT: dict[str, object] = {}
HISTORY: deque[bytes] = deque(maxlen=300)
BUFFER: list[bytes] = []
LIVE: weakref.WeakValueDictionary[int, Session] = weakref.WeakValueDictionary()
PENDING: list[bytes] = []
WARM: list[bytes] = []
MODULES = ("sqlite3", "xml.dom.minidom", "email.mime.multipart", "http.server", "unittest.mock")


class Session:
    """An object of the program."""

    def __init__(self, size: int = 100_000) -> None:
        self.data = bytearray(size)
        self.peer: Session | None = None


@pytest.fixture(autouse=True)
def _clean_up():
    yield
    for kept in (SLOT, HISTORY, BUFFER, PENDING, WARM):
        kept.clear()


@pytest.mark.memory_budget(growth="200 kB", constant={Session: 0})
def test_instances_that_are_dropped():
    assert len([Session() for _ in range(50)]) == 50


@pytest.mark.memory_budget(growth="200 kB")
def test_list_that_is_rebuilt():
    SLOT["rows"] = [[number] for number in range(20_000)]


@pytest.mark.memory_budget(growth="200 kB", peak="100 GB")
def test_bytes_that_are_replaced():
    SLOT["frame"] = bytes(5 * MB)


@pytest.mark.memory_budget(growth="200 kB", constant={Session: 0})
def test_small_cycles_that_the_collector_frees():
    for _ in range(20):
        session = Session(1_000)
        session.peer = session


@pytest.mark.memory_budget(threads=0)
def test_threads_that_are_joined():
    workers = [threading.Thread(target=bytearray, args=(1000,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@pytest.mark.memory_budget(open_files=0)
def test_files_that_are_closed():
    for _ in range(10):
        with Path(__file__).open() as file:
            file.read(10)


@pytest.mark.memory_budget(growth="200 kB", children=0)
def test_processes_that_are_waited_for():
    subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)


@pytest.mark.memory_budget(growth="200 kB")
def test_bounded_deque_that_fills():
    HISTORY.extend(bytes(10_000) for _ in range(70))


@functools.lru_cache(maxsize=40)
def _table(key: int) -> bytes:
    return bytes(20_000 + key)


@pytest.mark.memory_budget(growth="200 kB")
def test_bounded_cache_with_ever_new_keys():
    for _ in range(30):
        _table(random.randrange(10_000))


@pytest.mark.memory_budget(growth="200 kB")
def test_warm_up_of_three_rounds(memory_budget):
    for generation in memory_budget.generations(6):
        if generation <= 3:
            WARM.append(bytes(3 * MB // 2**generation))  # noqa: PERF401


def test_buffer_that_fills_up_to_its_capacity(memory_budget):
    memory_budget.gauge("buffer", lambda: len(BUFFER), capacity=100)
    for _ in memory_budget.generations(6):
        BUFFER.extend(bytes(50_000) for _ in range(min(15, 100 - len(BUFFER))))


@pytest.mark.memory_budget(growth="200 kB")
def test_modules_that_are_imported_late(memory_budget):
    for generation in memory_budget.generations(6):
        if generation <= len(MODULES):
            importlib.import_module(MODULES[generation - 1])


@pytest.mark.memory_budget(growth="2 MB")
def test_sizes_that_vary():
    SLOT["batch"] = bytes(random.randrange(MB, 5 * MB))


@pytest.mark.memory_budget(growth="200 kB")
def test_buffer_that_is_flushed_every_third_round(memory_budget):
    for generation in memory_budget.generations(6):
        PENDING.append(bytes(MB))
        if generation % 3 == 0:
            PENDING.clear()


@pytest.mark.memory_budget(growth="200 kB", constant={Session: 0})
def test_closures_that_are_dropped():
    session = Session(MB)
    assert [call() for call in [lambda: session.peer] * 10] == [None] * 10


@pytest.mark.memory_budget(growth="200 kB")
def test_exceptions_that_are_handled():
    for _ in range(20):
        with contextlib.suppress(ValueError):
            payload = bytes(200_000)
            raise ValueError(len(payload))


@pytest.mark.memory_budget(growth="200 kB", constant={Session: (0, 1)})
def test_weak_cache():
    for key in range(20):
        session = Session()
        LIVE[key] = session


@pytest.mark.memory_budget(growth="200 kB")
def test_lines_that_are_logged_and_captured(caplog):
    caplog.set_level(logging.INFO)
    for number in range(20):
        logging.getLogger("trainer").info("step %d of 20", number)
