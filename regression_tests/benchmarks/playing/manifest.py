"""What a set of programs says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.play import Judge, by_run

MACHINES = ("idle", "loaded")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A set of programs with their key.

    Attributes:
        name: of the set, which is the group of its entries.
        entries: yields each side of each program.
        about: what a reader of its table should know.
        asked: what the table shows of each leak.
        times: how often each is played, where nobody says otherwise.
        machines: on which.
        judge: what is said of a play.
    """

    name: str
    entries: Callable[[], Iterator[Entry]]
    about: str
    asked: tuple[str, ...] = ("type", "holder", "line", "phase", "start")
    times: int = 1
    machines: tuple[str, ...] = MACHINES[:1]
    judge: Judge = by_run
