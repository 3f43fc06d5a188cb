"""The tables of ``reports/attach``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regression_tests.benchmarks.attach.beside_memray import Memray
from regression_tests.benchmarks.attach.cycles import Counts
from regression_tests.benchmarks.attach.measure import Outcome

_CALM = ("stable", "inconclusive")
_TEXT = """Each program is started without leakguard, attached to and left; **leak** keeps what it
makes, and **calm** is its twin that does not. **Stopped** is for how long all threads of the
program stood still, once, to put the call in; **copying** the longest time that Python's lock was
held for a look; **a look** the CPU time of the copies that took it, beside the program. **More
memory** is private memory of the calm twin after we had left, and **more CPU** what it took then in
a second, beside what it took before. **As before** says that it goes on, with as many threads and
files.
"""
_COLUMNS = ("program", "leak", "held by, made at", "calm", "stopped", "copying", "a look",
            "more memory", "more CPU", "as before")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One program and its calm twin."""

    words: str
    leak: Outcome
    calm: Outcome

    @property
    def right(self) -> bool:
        """Whether the leak was found and the twin was not accused, or both were refused."""
        refused = [outcome.verdict.startswith("refused") for outcome in (self.leak, self.calm)]
        return all(refused) or (self.leak.verdict == "leak" and self.calm.verdict in _CALM)


def programs_page(rows: Sequence[Row]) -> str:
    """Return the table of programs as Markdown."""
    right = sum(row.right for row in rows)
    machine = f"Made on {os.cpu_count()} cores under a load of {os.getloadavg()[0]:.0f}."
    head = f"{len(rows)} programs, {right} as they should be.\n{machine}\n\n{_TEXT}\n"
    columns = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"
    return head + columns + "".join(map(_row, rows))


def _row(row: Row) -> str:
    leak, calm = row.leak, row.calm
    cells = (
        row.words,
        _verdict(leak),
        leak.holder,
        _verdict(calm),
        f"{1e3 * calm.stopped:.1f} ms",
        f"{1e3 * max(leak.copying, calm.copying):.1f} ms",
        f"{calm.looking:.2f} s",
        f"{calm.memory / 1e6:+.2f} MB",
        f"{calm.idle:+.2f} s",
        "yes" if leak.alive and calm.alive else "no",
    )
    return f"| {' | '.join(cells)} |\n"


def _verdict(outcome: Outcome) -> str:
    return outcome.verdict.split(":")[0]


def cycles_page(cycles: Sequence[Counts]) -> str:
    """Return what a process had after so many cycles, as Markdown."""
    return "".join(_cycles(cycles))


def _cycles(cycles: Sequence[Counts]) -> Iterator[str]:
    yield "Attached to and left again, many times, on one process:\n\n"
    yield "| cycles | modules | threads | files | blocks in use | RSS | names in `__main__` |\n"
    yield "|---|---|---|---|---|---|---|\n"
    for seen in cycles:
        numbers = (seen.cycles, seen.modules, seen.threads, seen.files, seen.blocks)
        cells = (*(f"{n:,}" for n in numbers), f"{seen.resident / 1e6:.2f} MB", f"{seen.names}")
        yield f"| {' | '.join(cells)} |\n"


def memray_page(memray: Mapping[str, Memray]) -> str:
    """Return what ``memray attach`` did, as Markdown."""
    return "".join(_memray(memray))


def _memray(memray: Mapping[str, Memray]) -> Iterator[str]:
    yield "`memray attach` (by gdb, with small blocks recorded) on the same leaking programs:\n\n"
    yield "| program | worked | stopped | threads left | files left | what it tells |\n"
    yield "|---|---|---|---|---|---|\n"
    for name, told in memray.items():
        worked = "yes" if told.worked else "no"
        numbers = f"{told.stopped:.2f} s | {told.threads:+d} | {told.files:+d}"
        yield f"| {name} | {worked} | {numbers} | {told.tells} |\n"
