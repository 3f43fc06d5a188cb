"""A program of the benchmark and the truth about it."""

from __future__ import annotations

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
        start: first generation whose end shows the growth.
        kind: kinds of finding that are right.
    """

    phase: tuple[str | None, ...]
    type: tuple[str, ...] = ()
    holder: tuple[str, ...] = ()
    start: int = 1
    kind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """One function that loops over generations, and the truth; None for a look-alike."""

    name: str
    main: Callable[..., None]
    truth: Truth | None


PROGRAMS: dict[str, Program] = {}


def leaking(
    phase: str | None,
    *,
    type: str = "",  # noqa: A002 - the words of a finding
    holder: str = "",
    start: int = 1,
    kind: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a program ``main(guard, leak)``; names that are equally right stand in one text."""

    def register(main: Callable[..., None]) -> Callable[..., None]:
        phases = (None,) if phase is None else tuple(phase.split())
        types, holders, kinds = (tuple(text.split()) for text in (type, holder, kind))
        truth = Truth(phases, types, holders, start, kinds)
        PROGRAMS[main.__name__] = Program(main.__name__, main, truth)
        return main

    return register


def healthy(main: Callable[..., None]) -> Callable[..., None]:
    """Register a look-alike ``main(guard)``."""
    PROGRAMS[main.__name__] = Program(main.__name__, main, None)
    return main


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
