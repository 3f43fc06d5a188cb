"""What a program of the corpus is given: a guard, a diary of its events, and numbers it measures.

Played through the API, or with that switched off, the guard is leakguard's own with the arguments
of ``watched``. Alone, and under ``leakguard run``, which watches from outside, it does nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

#: The folder of this playing: the runner reads there what the program tells.
FOLDER = Path(os.environ.get("HARM_FOLDER", "."))
_HOW, _HEARTBEAT = os.environ.get("HARM_HOW", "alone"), os.environ.get("HARM_HEARTBEAT")
_BEAT = 0.001

if _HOW in ("api", "off"):  # at the top of the program, as every program imports it
    from leakguard import LeakGuard


@contextmanager
def watched(**arguments: Any) -> Iterator[Any]:
    """Watch what follows as this playing wants it, with a heartbeat if the program asks for one."""
    with heartbeat() if _HEARTBEAT else nullcontext(), _guard(arguments) as guard:
        yield guard


def event(*words: object) -> None:
    """Write down that the program did something: all events are compared in their order."""
    _append("events", " ".join(map(str, words)))


def measured(name: str, value: float) -> None:
    """Write down a number that is compared by its limit; of several with a name the sum counts."""
    _append("measured", json.dumps([name, value]))


def memory_mb(pid: int, kind: str) -> float:
    """Return the pages of a process: ``Pss``, where those that several have are shared out, ..."""
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) / 1000


@contextmanager
def heartbeat() -> Iterator[None]:
    """Measure the longest time for which a second thread of the program stands still."""
    over, longest = threading.Event(), [0.0]
    thread = threading.Thread(target=_beat, args=(over, longest), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        measured("longest_stop_ms", 1000 * longest[0])


def _beat(over: threading.Event, longest: list[float]) -> None:
    before = time.perf_counter()
    while not over.is_set():
        time.sleep(_BEAT)
        now = time.perf_counter()
        longest[0] = max(longest[0], now - before - _BEAT)
        before = now


def _append(file: str, line: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    descriptor = os.open(FOLDER / file, flags, 0o600)
    try:
        os.write(descriptor, (line + "\n").encode())
    finally:
        os.close(descriptor)


def _guard(arguments: dict[str, Any]) -> Any:
    if _HOW in ("alone", "run"):
        return _NoGuard()
    return LeakGuard(**{"out": FOLDER / "run.jsonl"} | arguments)


class _NoGuard:
    """What a program that is watched from outside says to its guard comes to nothing."""

    def __enter__(self) -> _NoGuard:
        return self

    def __exit__(self, *_: object) -> None: ...

    def generations(self, rounds: Iterable[Any]) -> Iterable[Any]:
        return rounds

    def phase(self, _: str) -> nullcontext[None]:
        return nullcontext()

    def snapshot(self, _: str) -> None: ...


def _tell_peak(home: int) -> None:
    if os.getpid() == home:
        with open("/proc/self/status") as lines:
            peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        _append("peak", str(peak / 1000))


atexit.register(_tell_peak, os.getpid())
