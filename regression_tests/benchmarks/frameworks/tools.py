"""The three tools, each followed through the same callbacks: a guard, or what behaves like one."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

from leakguard import LeakGuard

_WARM_UP = 3  # generations before the first of tracemalloc's two snapshots
_TOP = 3  # lines that are kept of what a tracer says


class _Unrecorded:
    """Takes the place of a generation, of which a tracer records nothing."""

    number = None

    def __exit__(self, *_: object) -> None: ...
    def take_together(self, number: int) -> None: ...
    def means(self, words: str) -> None: ...


class _Tracer:
    """Takes the place of a guard in a callback; subclasses say what to do and what was found."""

    def __init__(self, answer: Path) -> None:
        self.answer, self.running, self._generations = answer, False, 0

    def __enter__(self) -> _Tracer:
        self.running = True
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False
        self.answer.write_text(json.dumps({"top": self.end()}))

    def generation(self, number: int | None = None) -> _Unrecorded:
        self._generations += 1
        if self._generations == _WARM_UP + 1:
            self.warmed_up()
        return _Unrecorded()

    def outer_round(self, level: str) -> None: ...

    def phase(self, name: str) -> Any:
        return contextlib.nullcontext()

    def announce(self, total: int | None, *, long: bool = False) -> None: ...
    def begin(self) -> None: ...
    def warmed_up(self) -> None: ...
    def end(self) -> list[str]: ...


class _Tracemalloc(_Tracer):
    """The difference of two snapshots by line, as its documentation shows it."""

    def begin(self) -> None:
        tracemalloc.start()

    def warmed_up(self) -> None:
        self._before = tracemalloc.take_snapshot()

    def end(self) -> list[str]:
        differences = tracemalloc.take_snapshot().compare_to(self._before, "lineno")
        tracemalloc.stop()
        return [_line(d.traceback[0].filename, d.traceback[0].lineno, d.size_diff)
                for d in differences[:_TOP]]  # fmt: skip


class _Memray(_Tracer):
    """The largest allocations that were not freed, as ``memray flamegraph --leaks`` draws them.

    The line is the innermost of the program or a library; the stack has the program's below it.
    """

    def begin(self) -> None:
        import memray

        self._file = self.answer.with_suffix(".bin")
        self._file.unlink(missing_ok=True)
        self._tracker = memray.Tracker(self._file)
        self._tracker.__enter__()

    def end(self) -> list[str]:
        import memray

        self._tracker.__exit__(None, None, None)
        reader = memray.FileReader(self._file)
        records = sorted(reader.get_leaked_allocation_records(), key=lambda r: -r.size)[:_TOP]
        lines = [_line(*_innermost(record), record.size) + _caller(record) for record in records]
        self._file.unlink()
        return lines


def _innermost(record: Any) -> tuple[str, int]:
    stack = record.stack_trace(max_stacks=1)
    return (stack[0][1], stack[0][2]) if stack else ("(no Python line)", 0)


def _caller(record: Any) -> str:
    """Return the program's line of a stack, which the report shows further down."""
    lines = [(file, line) for _, file, line in record.stack_trace() if "/programs/" in file]
    return f", called from {Path(lines[0][0]).name}:{lines[0][1]}" if lines else ""


def _line(file: str, line: int, size: int) -> str:
    where = "/".join(Path(file).parts[-2:])
    return f"{where}:{line} +{size / 1e6:.2f} MB"


def tool() -> Any:
    """Return the guard of this process, or what takes its place: ``TOOL`` and ``OUT`` say."""
    out = Path(os.environ["OUT"])
    kind = os.environ.get("TOOL", "leakguard")
    if kind == "leakguard":
        return LeakGuard(out=out.with_name(out.name + ".jsonl"), name=out.stem, report=None)
    return {"tracemalloc": _Tracemalloc, "memray": _Memray}[kind](out.with_name(out.name + ".json"))


def generations() -> int:
    """Return how many generations this run is to have."""
    return int(os.environ.get("GENERATIONS", "24"))


def mistake() -> str:
    """Return the mistake to make, or ``healthy``."""
    return sys.argv[1] if len(sys.argv) > 1 else "healthy"
