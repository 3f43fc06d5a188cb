"""Looks at a heap, a hundred thousand times, while threads change it; counts how the looks ended.

The heap holds the corpus of broken, half-built and hostile objects. Each slice is a process of its
own with another seed, so that a crash costs one slice and is told. A look is a count of what lives,
every tenth time who holds what, and every hundredth time both in a copy of the process.

    python -m regression_tests.benchmarks.heap.looks_under_threads [--looks 100000] [--slices 20]
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leakguard.capture.heap import engine
from leakguard.capture.heap.census import take_census
from leakguard.capture.heap.growth import PathMemory
from leakguard.capture.heap.inspection import take_inspection
from leakguard.capture.heap.process_copy import CopyFailed, ProcessCopy

sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "heap"))
from broken_objects import KINDS
from broken_objects.c_api import new_list
from broken_objects.classes import DictKind, ListKind

_ATTRIBUTES = 40  # names; more than an instance keeps inline, so that its values move
_HELD = 500  # objects that each thread keeps
# Changes between two rests, and a rest in seconds: the looks need the interpreter's lock as well.
_BURST, _REST = 60, 0.003
_WALKS, _COPIES = 10, 100  # one look in so many
_COPY_SECONDS, _COPY_BYTES = 20.0, 256_000_000
_SLICE_SECONDS = 3600
_MOST_SAID = 3000  # characters of what a slice complains of
# Other threads run in the middle of a traversal that Python code does, as they never do in one of C
# code; the last two are large, and would make each look dear.
_LEFT_OUT = ("traversal", "a_hundred_thousand_deep", "tee_that_lags_behind")


class Plain:
    """Keeps its attributes inline, or in a dictionary."""


class Slotted(Plain):
    """Has a slot that is often empty, and attributes as well."""

    __slots__ = ("left",)


def main() -> int:
    """Print one line a slice, and the sum; exit 1 if a look or a process came to grief."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--looks", type=int, default=100_000)
    parser.add_argument("--slices", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first slice, a seed")
    parser.add_argument("--slice", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.slice is not None:
        told = _Slice(arguments.looks, arguments.threads, arguments.slice).look()
        print(json.dumps(told), flush=True)
        os._exit(0)  # nothing is torn down: that would read what is broken
    total, grief = collections.Counter[str](), 0
    for number in range(arguments.first, arguments.first + arguments.slices):
        told = _told(number, arguments.looks // arguments.slices, arguments.threads)
        grief += told is None
        total.update(told or {})
    kinds = f"{engine.NAME} engine, {len(_kinds())} kinds of broken objects"
    print(f"\n{kinds}: {dict(total)}; {grief} processes came to grief")
    return 1 if grief or total["errors"] else 0


def _told(number: int, looks: int, threads: int) -> dict[str, int] | None:
    """Return what a slice counted, None where its process came to grief; print what it says."""
    options = ["--slice", str(number), "--looks", str(looks), "--threads", str(threads)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, *options],
            capture_output=True, text=True, timeout=_SLICE_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"slice {number} was not over after {_SLICE_SECONDS} s", flush=True)
        return None
    complaints = done.stderr[-_MOST_SAID:]
    print(f"slice {number}, status {done.returncode}: {done.stdout.strip()}", flush=True)
    if complaints:
        print(complaints, flush=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


class _Slice:
    """So many looks in this process, while threads change what they look at."""

    def __init__(self, looks: int, threads: int, seed: int) -> None:
        gc.disable()  # it would itself die of some of the kinds
        self._looks, self._changes, self._stop = looks, [0] * threads, threading.Event()
        self._kept = [make(lambda: None) for make in _kinds().values()]
        self._shared: dict[int, Any] = {}
        self._threads = [
            threading.Thread(target=self._churn, args=(number, 1000 * seed + number), daemon=True)
            for number in range(threads)
        ]

    def look(self) -> dict[str, int]:
        """Return how many looks there were of each kind, and how the program changed meanwhile."""
        told = collections.Counter[str](looks=0, copies=0, copies_ended_late=0, errors=0)
        for thread in self._threads:
            thread.start()
        for number in range(self._looks):
            act = self._walk if number % _WALKS == 0 else self._count
            try:
                if number % _COPIES == _COPIES - 1:
                    told["copies"] += 1
                    told["copies_ended_late"] += self._copied()
                else:
                    act()
            except Exception:
                told["errors"] += 1
                traceback.print_exc()
            told["looks"] += 1
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return {**told, "changes_by_threads": sum(self._changes)}

    def _count(self) -> object:
        return take_census(engine.tally, engine.NAME, {"plain": Plain}, 1000)

    def _walk(self) -> object:
        none = PathMemory()
        return take_inspection(engine.Graph, engine.NAME, none, [self._kept], 1000, 10, ())

    def _copied(self) -> bool:
        """Look in a copy; return whether it had to be ended, as one that caught a lock has to."""

        def work() -> bytes:
            return b"looked" if self._count() and self._walk() else b""

        copy = ProcessCopy.begin(work, seconds=_COPY_SECONDS, memory=_COPY_BYTES)
        try:
            assert copy.answer() == b"looked"
        except CopyFailed as failure:
            if not failure.hung:
                raise
            return True
        return False

    def _churn(self, number: int, seed: int) -> None:
        """Make, change and drop objects of every layout, some of them shared with other threads."""
        chance = random.Random(seed)
        held: collections.deque[Any] = collections.deque(maxlen=_HELD)
        makers: tuple[Callable[[], Any], ...] = (
            Plain, Slotted, ListKind, DictKind, dict, set, lambda: new_list(5),
            lambda: (item for item in held), collections.OrderedDict,
        )  # fmt: skip
        while not self._stop.is_set():
            for _ in range(_BURST):
                made = chance.choice(makers)()
                # No cycles but through what is let go of: the collector is off.
                _change(made, chance, held)
                held.append(made)
                held[chance.randrange(len(held))] = made
                self._shared[chance.randrange(_HELD)] = made
                if chance.random() < 1 / _HELD:
                    self._shared.clear()
                    held.clear()
                    held.append(made)
            self._changes[number] += _BURST
            time.sleep(_REST)


def _kinds() -> dict[str, Callable[[Callable[[], None]], Any]]:
    return {k: make for k, make in KINDS.items() if not any(part in k for part in _LEFT_OUT)}


def _change(made: Any, chance: random.Random, held: collections.deque[Any]) -> None:
    if isinstance(made, Plain):
        for _ in range(chance.randrange(4)):
            setattr(made, f"attribute_{chance.randrange(_ATTRIBUTES)}", [held])
        if chance.random() < 0.1:
            vars(made).clear()
    elif isinstance(made, dict):
        made.update((number, [number]) for number in range(chance.randrange(30)))
        for key in list(made)[: chance.randrange(30)]:
            del made[key]
    elif isinstance(made, set):
        made.update(range(chance.randrange(50)))


if __name__ == "__main__":
    sys.exit(main())
