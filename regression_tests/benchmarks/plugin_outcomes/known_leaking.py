"""Tests that keep something every round. ``CULPRIT`` is what the failure must name."""

from __future__ import annotations

import functools
import random
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import ClassVar

import pytest

MB = 1_000_000
KEPT: list[object] = []
BY_ID: dict[int, object] = {}
TEXT = bytearray()
CALLBACKS: list[object] = []
ERRORS: list[Exception] = []
LAST: deque[Node] = deque(maxlen=5)
STOP = threading.Event()
PROCESSES: list[subprocess.Popen[bytes]] = []
LISTENERS: dict[str, list[object]] = {"saved": []}
PAUSED: list[object] = []

CULPRIT = {
    "test_instances_in_a_list": "KEPT[*]",
    "test_instances_in_a_dict": "BY_ID[*]",
    "test_bytes_in_a_list": "KEPT[*]",
    "test_bytes_that_are_extended": "bytearray",
    "test_cycles_with_much_in_them": "Circular",
    "test_threads_that_are_never_joined": "thread",
    "test_files_that_are_never_closed": "open files",
    "test_processes_that_are_never_ended": "child",
    "test_closures_that_are_registered": "CALLBACKS[*]",
    "test_cache_without_a_bound": "_answer",
    "test_chain_behind_a_bounded_deque": "Node",
    "test_growth_after_a_warm_up": "KEPT[*]",
    "test_sizes_that_vary": "KEPT[*]",
    "test_growth_every_second_round": "Session",
    "test_registry_of_a_class": "Registered.registry[*]",
    "test_exceptions_with_their_frames": "ERRORS[*]",
    "test_listeners_that_are_never_removed": "Session",
    "test_generators_that_are_never_finished": "PAUSED[*]",
}


class Session:
    """An object of the program."""

    def __init__(self, size: int = 50_000) -> None:
        self.data = bytearray(size)

    def on_saved(self) -> None:
        """Listen."""


class Circular:
    """Holds itself, and much besides."""

    def __init__(self) -> None:
        self.data = bytearray(2 * MB)
        self.itself = self


class Node:
    """Knows the one before it."""

    def __init__(self, before: Node | None) -> None:
        self.before = before
        self.data = bytearray(100_000)


class Registered:
    """Keeps all of its instances."""

    registry: ClassVar[list[object]] = []

    def __init__(self) -> None:
        self.data = bytearray(100_000)
        self.registry.append(self)


@pytest.fixture(autouse=True)
def _clean_up():
    yield
    STOP.set()
    for process in PROCESSES:
        process.kill()
        process.wait()
    for kept in (KEPT, BY_ID, TEXT, CALLBACKS, ERRORS, LAST, PROCESSES, PAUSED,
                 LISTENERS["saved"], Registered.registry):  # fmt: skip
        kept.clear()
    _answer.cache_clear()
    STOP.clear()


@pytest.mark.memory_budget(growth="100 kB", constant={Session: 0})
def test_instances_in_a_list():
    KEPT.extend(Session() for _ in range(4))


@pytest.mark.memory_budget(growth="100 kB")
def test_instances_in_a_dict(memory_budget):
    for generation in memory_budget.generations(5):
        BY_ID.update({100 * generation + number: Session() for number in range(4)})


@pytest.mark.memory_budget(growth="500 kB")
def test_bytes_in_a_list():
    KEPT.append(bytes(MB))


@pytest.mark.memory_budget(growth="200 kB")
def test_bytes_that_are_extended():
    TEXT.extend(bytes(500_000))


@pytest.mark.memory_budget
def test_cycles_with_much_in_them():
    Circular()


@pytest.mark.memory_budget(threads=0)
def test_threads_that_are_never_joined():
    threading.Thread(target=STOP.wait, daemon=True).start()


@pytest.mark.memory_budget(open_files=0)
def test_files_that_are_never_closed():
    KEPT.append(Path(__file__).open())  # noqa: SIM115 - never closed on purpose


@pytest.mark.memory_budget(children=0)
def test_processes_that_are_never_ended():
    command = [sys.executable, "-S", "-c", "import time; time.sleep(300)"]
    PROCESSES.append(subprocess.Popen(command))


@pytest.mark.memory_budget(growth="200 kB")
def test_closures_that_are_registered():
    payload = bytes(500_000)
    CALLBACKS.append(lambda: payload)


@functools.cache
def _answer(key: float) -> bytes:
    return bytes(100_000)


@pytest.mark.memory_budget(growth="200 kB")
def test_cache_without_a_bound():
    for _ in range(5):
        _answer(random.random())


@pytest.mark.memory_budget(growth="50 kB")
def test_chain_behind_a_bounded_deque():
    LAST.append(Node(LAST[-1] if LAST else None))


@pytest.mark.memory_budget(growth="200 kB")
def test_growth_after_a_warm_up(memory_budget):
    for generation in memory_budget.generations(6):
        KEPT.append(bytes(5 * MB if generation <= 2 else 400_000))  # noqa: PERF401


@pytest.mark.memory_budget(growth="200 kB")
def test_sizes_that_vary():
    KEPT.append(bytes(random.randrange(MB // 2, 3 * MB // 2)))


@pytest.mark.memory_budget(growth="20 kB")
def test_growth_every_second_round(memory_budget):
    for generation in memory_budget.generations(8):
        if generation % 2:
            KEPT.extend(Session(100_000) for _ in range(2))


@pytest.mark.memory_budget(growth="50 kB")
def test_registry_of_a_class():
    Registered()


@pytest.mark.memory_budget(growth="200 kB")
def test_exceptions_with_their_frames():
    try:
        payload = bytes(500_000)
        raise ValueError(len(payload))
    except ValueError as error:
        ERRORS.append(error)


@pytest.mark.memory_budget(growth="50 kB")
def test_listeners_that_are_never_removed():
    LISTENERS["saved"].append(Session(200_000).on_saved)


def _steps(size: int):
    payload = bytes(size)
    yield len(payload)
    yield payload


@pytest.mark.memory_budget(growth="200 kB")
def test_generators_that_are_never_finished():
    steps = _steps(500_000)
    next(steps)
    PAUSED.append(steps)
