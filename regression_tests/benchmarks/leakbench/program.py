"""A program of the benchmark and the truth about it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GENERATIONS = 10
ROUNDS = range(1, GENERATIONS + 1)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a planted leak is; several names of a field are equally right, none is "not asked".

    Attributes:
        phase: phase that makes or keeps them, both where they differ; None between phases.
        type: last parts of the names of the types that pile up.
        holder: pieces of text, one of which names the place that keeps them.
        start: first generation whose end shows the growth; None where the author cannot know.
        within: how many generations a named start may be off.
        kind: kinds of finding that are right; a kind without objects is wrong with a type.
        size: bytes that a generation adds, on average over the generations since the start.
        lines: ``file.py:12``, where what piles up is made or kept, each equally right.
        fix: a word that the advice must have.
    """

    phase: tuple[str | None, ...]
    type: tuple[str, ...] = ()
    holder: tuple[str, ...] = ()
    start: int | None = 1
    within: int = 1
    kind: tuple[str, ...] = ()
    size: float | None = None
    lines: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """The leaks of one file or function; none in a look-alike."""

    name: str
    file: str
    truths: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class Program(Planted):
    """One function that loops over generations, and its leaks."""

    main: Callable[..., None]


PROGRAMS: dict[str, Program] = {}
"""The programs of the set that was opened."""

SETS = ("short", "temporal")


def open_set(name: str) -> str:
    """Register the programs of one set, and return what a reader of its table should know."""
    return str(importlib.import_module(f"{__package__}.{name}").ABOUT)


Register = Callable[[Callable[..., None]], Callable[..., None]]


def truth(
    phase: str | None,
    *,
    type: str = "",  # noqa: A002 - the words of a finding
    holder: str = "",
    start: int = 1,
    within: int = 1,
    kind: str = "",
    size: float | None = None,
) -> Truth:
    """Return the truth about one leak; names that are equally right stand in one text."""
    phases = (None,) if phase is None else tuple(phase.split())
    types, holders, kinds = (tuple(text.split()) for text in (type, holder, kind))
    return Truth(phases, types, holders, start, within, kinds, size)


def planted(*truths: Truth) -> Register:
    """Register a program ``main(guard, leak)`` with all of its leaks."""

    def register(main: Callable[..., None]) -> Callable[..., None]:
        name = main.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are called {name}")
        PROGRAMS[name] = Program(name, main.__code__.co_filename, truths, main)
        return main

    return register


def leaking(phase: str | None, **words: Any) -> Register:
    """Register a program ``main(guard, leak)`` with one leak, in the words of :func:`truth`."""
    return planted(truth(phase, **words))


def healthy(main: Callable[..., None]) -> Callable[..., None]:
    """Register a look-alike ``main(guard)``."""
    return planted()(main)


def work(milliseconds: float = 8) -> int:
    """Keep the interpreter busy with objects that die at once; return what it counted."""
    end = time.perf_counter() + milliseconds / 1000
    total = 0
    while time.perf_counter() < end:
        rows: list[dict[str, Any]] = [
            {"id": i, "name": f"row {i}", "at": [i] * 3} for i in range(40)
        ]
        total += len(json.loads(json.dumps(rows)))
    return total


def pace(milliseconds: float) -> None:
    """Pass the time of one phase: half of it computes, by the clock of the thread, half waits."""
    end = time.thread_time() + milliseconds / 2000
    while time.thread_time() < end:
        work(0.2)
    time.sleep(milliseconds / 2000)
