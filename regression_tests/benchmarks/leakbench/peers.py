"""What people use today, each as a loop with the words of the guard and one fair rule.

Every peer looks once at the end of each generation, as its own manual advises, and judges the last
six of them, so that a warm-up of four generations is forgiven. None of them knows phases.
"""

from __future__ import annotations

import gc
import itertools
import json
import tempfile
import tracemalloc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import SETS
from regression_tests.benchmarks.leakbench.score import Said

JUDGED = 6
FOLDERS = tuple(str(Path(__file__).with_name(name)) for name in SETS)
ALONE = "alone"
"""The row that is no tool: what the programs cost by themselves."""
NOISE = 10_000
"""Bytes a generation below which a tool that sees bytes keeps silent."""


class Peer(ABC):
    """A tool that looks at the end of each generation."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def phase(self, name: str) -> AbstractContextManager[Any]:
        """Do nothing: no peer knows phases."""
        return nullcontext()

    def gauge(self, name: str, value: Callable[[], float], capacity: float | None = None) -> None:
        """Forget it: no peer knows gauges."""
        del name, value, capacity

    def generations(self, rounds: Iterable[int]) -> Iterator[int]:
        """Yield each round and look after it."""
        for number in rounds:
            yield number
            self.numbers.append(number)
            self.look()

    @abstractmethod
    def look(self) -> None:
        """Look at the process at the end of a generation."""

    @abstractmethod
    def said(self) -> list[Said]:
        """Return what the tool accuses after the last generation."""


class Counts(Peer):
    """A series of numbers by name; a name that never falls and rises in most rounds leaks."""

    def __init__(self) -> None:
        super().__init__()
        self._notes = tempfile.TemporaryFile("w+")  # noqa: SIM115 - on disk, not in the heap it sees
        self.series: list[dict[str, float]] = []

    def look(self) -> None:
        """Write down what the tool sees now."""
        self._notes.write(json.dumps(self.see()) + "\n")

    @abstractmethod
    def see(self) -> Mapping[str, float]:
        """Return the tool's number for every name it knows."""

    def said(self) -> list[Said]:
        """Return the names that grew, largest growth first, no more than five."""
        self._notes.seek(0)
        self.series = [json.loads(line) for line in self._notes]
        rates = {name: self._rate(name) for name in self.series[-1]}
        grown = sorted((n for n, rate in rates.items() if rate), key=lambda n: -rates[n])
        return [self.accuse(name) for name in grown[:5]]

    def accuse(self, name: str) -> Said:
        """Return what is said about a name that grew."""
        return Said("leak", type=name, start=self._start(name))

    def _steps(self, name: str) -> list[float]:
        values = [look.get(name, 0) for look in self.series]
        return [after - before for before, after in itertools.pairwise(values)]

    def _rate(self, name: str) -> float:
        steps = self._steps(name)[-JUDGED:]
        grew = min(steps) >= 0 and sum(step > self.least for step in steps) * 2 >= len(steps)
        return sum(steps) / len(steps) if grew else 0

    def _start(self, name: str) -> int:
        first = next(i for i, step in enumerate(self._steps(name)) if step > self.least)
        return 1 if first == 0 else self.numbers[first + 1]

    least: float = 0


class ObjgraphGrowth(Counts):
    """``objgraph.typestats`` after a collection, which is what ``objgraph.growth`` compares."""

    def see(self) -> Mapping[str, float]:
        """Return the number of tracked objects of each type."""
        import objgraph

        gc.collect()
        return objgraph.typestats(shortnames=False)


class PymplerTracker(Counts):
    """``SummaryTracker``: the bytes of each type."""

    def __init__(self) -> None:
        super().__init__()
        from pympler.tracker import SummaryTracker

        self._tracker = SummaryTracker(ignore_self=True)

    def see(self) -> Mapping[str, float]:
        """Return the bytes of each type."""
        return {name: size for name, _, size in self._tracker.create_summary()}

    def accuse(self, name: str) -> Said:
        """Return what is said about a type, without the words that pympler puts around it."""
        plain = name.removeprefix("<class '").removesuffix("'>")
        return Said("leak", type=plain, start=self._start(name))

    least = 500


class TracemallocDifference(Counts):
    """Bytes by line of the last frame; a line that grows leaks, and is all that it can name."""

    def __init__(self) -> None:
        super().__init__()
        tracemalloc.start()

    def see(self) -> Mapping[str, float]:
        """Return the bytes that each line has allocated and that are still in use."""
        gc.collect()
        shot = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__)]
        )
        return {str(row.traceback): row.size for row in shot.statistics("lineno")}

    def accuse(self, name: str) -> Said:
        """Return the line that allocates what stays."""
        return Said("leak", site=name, start=self._start(name))

    least = 500


class RssRegression(Peer):
    """A straight line through the RSS of the last generations, its slope against its scatter."""

    def __init__(self) -> None:
        super().__init__()
        import psutil

        self._process = psutil.Process()
        self._rss: list[int] = []

    def look(self) -> None:
        """Read the resident size."""
        self._rss.append(self._process.memory_info().rss)

    def said(self) -> list[Said]:
        """Return one leak when the slope is above the noise and three times its own error."""
        values = self._rss[-JUDGED:]
        count, middle = len(values), (len(values) - 1) / 2
        mean = sum(values) / count
        spread = sum((i - middle) ** 2 for i in range(count))
        slope = sum((i - middle) * (v - mean) for i, v in enumerate(values)) / spread
        rest = sum((v - mean - slope * (i - middle)) ** 2 for i, v in enumerate(values))
        error = (rest / (count - 2) / spread) ** 0.5
        return [Said("leak", kind="memory")] if slope > max(NOISE, 3 * error) else []


class MemrayLeaks(Peer):
    """What pytest-memray's ``limit_leaks`` asks: which stack allocated more than stays allowed.

    It knows only frames that were entered while it traced, so it traces from the start and cannot
    forgive a warm-up.
    """

    def __init__(self) -> None:
        super().__init__()
        import memray

        self._folder = tempfile.TemporaryDirectory()
        self._file = Path(self._folder.name) / "allocations.bin"
        self._tracker = memray.Tracker(self._file, trace_python_allocators=True)
        self._tracker.__enter__()

    def generations(self, rounds: Iterable[int]) -> Iterator[int]:
        """Stop while the program still holds what it leaked."""
        yield from super().generations(rounds)
        gc.collect()
        self._tracker.__exit__(None, None, None)

    def look(self) -> None:
        """Do nothing: it looks when the test is over."""

    def said(self) -> list[Said]:
        """Return the stacks that leaked more than the noise, most bytes first, at most five."""
        import memray

        allowed = 500 * len(self.numbers)
        records = memray.FileReader(self._file).get_leaked_allocation_records(merge_threads=True)
        leaked = sorted((r for r in records if r.size > allowed), key=lambda r: -r.size)
        return [Said("leak", site=_place(record.stack_trace())) for record in leaked[:5]]


def _place(stack: Sequence[tuple[str, str, int]]) -> str | None:
    """Return the innermost line of a program, else the innermost line."""
    own = [frame for frame in stack if frame[1].startswith(FOLDERS)]
    return next((f"{file}:{line}" for _, file, line in (*own, *stack)), None)


class Alone(Peer):
    """No tool at all: what the program itself costs."""

    def look(self) -> None:
        """Do nothing."""

    def said(self) -> list[Said]:
        """Return nothing."""
        return []


PEERS: dict[str, Callable[[], Peer]] = {
    ALONE: Alone,
    "objgraph": ObjgraphGrowth,
    "tracemalloc": TracemallocDifference,
    "pympler": PymplerTracker,
    "rss": RssRegression,
    "memray": MemrayLeaks,
}
