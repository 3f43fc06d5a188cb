"""Small programs, each with one leak or cost of a kind that went untold once, and its calm twin.

Run as ``python silent_programs.py NAME leak|clean RUN.jsonl``: a process of its own.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator

from leakguard import LeakGuard


class Session:
    """A record of one round that has more than a number in it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.payload = bytes(3_000)


class Link:
    """An object that may refer to itself."""

    def __init__(self, size: int, closed: bool) -> None:
        self.payload = bytearray(size)
        self.other = self if closed else None


KEPT: list[Session] = []
FRAMES: dict[int, bytearray] = {}
IDLE: list[bytes] = []

_CHILD = (
    "import sys\n"
    "kept = []\n"
    "for line in sys.stdin:\n"
    "    kept.append(bytearray(b'x' * 400_000))\n"
    "    if line.startswith('clean'): kept.clear()\n"
    "    print(flush=True)\n"
)


def work() -> int:
    """Do what takes a few milliseconds."""
    return sum(number * number for number in range(60_000))


def child_keeps(leaks: bool) -> Iterator[Callable[[int], None]]:
    """A child process keeps what each round gave it."""
    command = [sys.executable, "-c", _CHILD]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:  # type: ignore[call-overload]

        def step(number: int) -> None:
            child.stdin.write("leak\n" if leaks else "clean\n")
            child.stdin.flush()
            child.stdout.readline()

        yield step
        child.stdin.close()


def cycles_without_collector(leaks: bool) -> Iterator[Callable[[int], None]]:
    """The collector is off; what refers to itself is never freed."""
    gc.disable()

    def step(number: int) -> None:
        for _ in range(4):
            Link(100_000, closed=leaks)

    yield step
    gc.enable()


def few_bytes_each(leaks: bool) -> Iterator[Callable[[int], None]]:
    """One object of three kilobytes a round is kept, or the newest one only."""

    def step(number: int) -> None:
        if not leaks:
            KEPT.clear()
        KEPT.append(Session(number))

    yield step


def two_places(leaks: bool) -> Iterator[Callable[[int], None]]:
    """Two containers keep something of each round."""

    def step(number: int) -> None:
        FRAMES[number if leaks else 0] = bytearray(180_000)
        if not leaks:
            IDLE.clear()
        IDLE.append(b"%d" % number * 60_000)

    yield step


def garbage_in_time(leaks: bool) -> Iterator[Callable[[int], None]]:
    """Much garbage in cycles waits for the collector, which comes: a cost and no leak."""

    def step(number: int) -> None:
        for _ in range(40):
            Link(1_000_000, closed=leaks)
        if number % 4 == 3:
            gc.collect()

    yield step


PROGRAMS: dict[str, tuple[Callable[[bool], Iterator[Callable[[int], None]]], int]] = {
    "child_keeps": (child_keeps, 40),
    "cycles_without_collector": (cycles_without_collector, 20),
    "few_bytes_each": (few_bytes_each, 120),
    "two_places": (two_places, 16),
    "garbage_in_time": (garbage_in_time, 32),
}


def main(name: str, side: str, out: str) -> None:
    """Play one program into a run file."""
    make, rounds = PROGRAMS[name]
    with LeakGuard(out=out) as guard:
        for step in make(side == "leak"):
            for number in guard.generations(range(rounds)):
                with guard.phase("work"):
                    work()
                    step(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
