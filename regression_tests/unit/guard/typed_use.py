"""The public face as a type checker sees it; ``mypy --strict`` reads this file, nothing runs it.

A comment that silences an error is itself an error where there is none to silence: each of them
says that a wrong use is refused.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from typing_extensions import assert_type

import leakguard
from leakguard import LeakGuard, StillAlive, UsageError, expect_freed, phase
from leakguard.model import Report, Run


class Environment:
    """Something to watch."""


def settings() -> None:
    """Take what the documentation shows."""
    LeakGuard()
    LeakGuard([Environment])
    LeakGuard({Environment: 2}, out="runs/erl.jsonl", log=sys.stdout, large_object="50 MB")
    LeakGuard(watch={Environment: (16, 17)}, out=Path("run.jsonl"), log=logging.getLogger("x"))
    LeakGuard(max_overhead="1%", on_signal="SIGUSR1", trace="off", report=None, max_file_size=None)
    LeakGuard(on_leak=lambda report: print(report.headline), ignore=["app.cache.*"], log=print)
    LeakGuard(out=3)  # type: ignore[arg-type]
    LeakGuard(on_leak=lambda: None)  # type: ignore[arg-type, misc]
    LeakGuard(nonsense=True)  # type: ignore[call-arg]


def loops(guard: LeakGuard, words: list[str]) -> None:
    """Give each loop the type of what is looped over."""
    with guard as entered:
        assert_type(entered, LeakGuard)
        for number in guard.generations(range(3)):
            assert_type(number, int)
        for number in guard.generations(25):
            assert_type(number, int)
        for word in guard.generations(words):
            assert_type(word, str)
        with guard.generation(), guard.phase("work"):
            expect_freed(Environment(), "dropped")
    guard.gauge("words", lambda: len(words), capacity="50 MB")
    guard.gauge("words", len(words))  # type: ignore[arg-type]


async def awaited(guard: LeakGuard, batches: AsyncIterator[bytes]) -> None:
    """Follow an asynchronous loop."""
    async for batch in guard.generations(batches):
        assert_type(batch, bytes)


@phase("train")
def train(steps: int, *, rate: float = 0.1) -> float:
    """Keep its signature though it is decorated."""
    return steps * rate


@phase("episodes")
def episodes(count: int) -> Iterator[str]:
    """Stay a generator."""
    yield from map(str, range(count))


@phase("fetch")
async def fetch(url: str) -> bytes:
    """Stay a coroutine."""
    return url.encode()


async def decorated() -> None:
    """Call them."""
    assert_type(train(3), float)
    assert_type(episodes(3), Iterator[str])
    assert_type(await fetch("x"), bytes)
    train("three")  # type: ignore[arg-type]


def results(guard: LeakGuard) -> str:
    """Read a run and judge it."""
    assert_type(guard.run, Run)
    assert_type(guard.report(), Report)
    try:
        run = leakguard.load("run.jsonl")
        guard.assert_freed()
    except (UsageError, StillAlive):
        return ""
    report = leakguard.diagnose(run)
    assert_type(report.findings[0].held_by, "str | None")
    return leakguard.render(report, "markdown")
