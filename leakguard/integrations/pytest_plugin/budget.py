"""The memory budget of one test: runs its rounds and judges them."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from leakguard.capture import heap
from leakguard.capture.allocator import heap_in_use
from leakguard.capture.resources import Handles
from leakguard.errors import MemoryBudgetBroken, UsageError
from leakguard.guard import LeakGuard
from leakguard.integrations.pytest_plugin.judgement import Judgement, judge
from leakguard.integrations.pytest_plugin.older import Leavers, Older
from leakguard.integrations.pytest_plugin.outcomes import Outcome, failure_text, outcome_of
from leakguard.integrations.pytest_plugin.settings import (
    BudgetSettings,
    rounds,
    settings_of,
    usable,
)
from leakguard.live.cycle_watch import is_notable
from leakguard.model import Collection, Run

__all__ = ["MemoryBudget"]

AGAIN = "Before the rounds to be sure"
_LONGEST_LABEL = 80  # characters of a folder's name
_MEMRAY = ("limit_memory", "limit_leaks", "limit_leaked_objects")


def budget_for(
    item: pytest.Item,
    arguments: Mapping[str, Any],
    ini: Mapping[str, str],
    folder: Path | None,
    leavers: Leavers,
) -> MemoryBudget:
    """Return the budget of a test; call it before the test and its fixtures make objects.

    Raises:
        UsageError: the test or an argument of its mark cannot be used.
    """
    usable(item)
    settings = settings_of(arguments, ini)
    place = None if folder is None else folder / _slug(item.nodeid)
    older = leavers.alive(settings.budget.constant, settings.classes)
    return MemoryBudget(item.nodeid, settings, older, place, traced=_is_traced(item))


@dataclass(slots=True, repr=False)
class MemoryBudget:
    """Limits of what a test may use, judged over several rounds of the same work.

    Example::

        @pytest.mark.memory_budget(growth="1 GB", constant={TradingEnvironment: 2})
        def test_a_generation_keeps_nothing(memory_budget, trainer):
            for generation in memory_budget.generations(5):
                trainer.run_generation(generation)

    If the budget is broken after the requested rounds, the test runs as many rounds again, because
    warm-ups and buffers that fill need time. It does so at most twice unless the settings say
    otherwise. The budget fails if the same limit is broken in two consecutive batches of rounds, or
    if any limit is broken in the last batch. After each round, the log records that pytest captured
    are cleared, because pytest would keep them.

    Attributes:
        name: the name of the test.
        settings: the limits.
        older: instances that were alive before the test began, by the names in ``constant``.
        folder: the folder for the run and its report; None if they are not written.
        traced: whether another tool records allocations during the test.
        outcomes: the outcome of each loop that ended, in plain values.
    """

    name: str
    settings: BudgetSettings
    older: Mapping[str, Older] = field(default_factory=dict)
    folder: Path | None = None
    traced: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    _gauges: dict[str, tuple[Callable[[], float], float | None]] = field(default_factory=dict)
    _open: tuple[int, int] | None = None
    _watching: LeakGuard | None = None
    _handles: Handles | None = None

    def __repr__(self) -> str:
        return f"<memory budget of {self.name}>"

    def gauge(self, name: str, value: Callable[[], float], capacity: float | None = None) -> None:
        """Report a number of your own; growth that follows one with a ``capacity`` is filling."""
        self._gauges[name] = (value, capacity)

    def generations(self, count: int | None = None) -> Iterator[int]:
        """Yield the numbers of the rounds from 1, and judge the budget after the last one.

        Raises:
            MemoryBudgetBroken: a limit is broken, and still broken after more rounds.
            UsageError: ``count`` is too small for any verdict.
        """
        __tracebackhide__ = True
        asked = rounds(self.settings.generations if count is None else count,
                       self.settings.budget.warmup)  # fmt: skip
        patience = Patience(over=not self.settings.retries)
        guard, garbage = self._guard(patience), Garbage()
        self._watching, self._handles = guard, Handles.now()
        verdicts: list[Judgement] = []
        with guard:
            gc.collect()
            guard.snapshot("Before the first generation", baseline=True)
            for number in guard.generations(self._numbers(guard, garbage, asked, verdicts)):
                self._open = (number - 1, asked)
                patience.over = number > asked or patience.over
                yield number
                _forget_captured_records()
                garbage.collect(number)
        self._open = self._watching = None
        del guard
        self._conclude(verdicts[-1], len(verdicts) * asked, asked)

    def unfinished(self) -> str | None:
        """Return why the budget of a finished test was not judged; None if it was judged."""
        if self._open is not None:
            done, asked = self._open
            return f"the loop over memory_budget.generations() was left after {done} of {asked}"
        if not self.outcomes:
            return "the test never looped over memory_budget.generations()"
        return None

    @property
    def repeated(self) -> bool:
        """True during the second or a later round, when the work has already been done once."""
        return self._open is not None and self._open[0] > 0

    def close(self) -> None:
        """Stop the guard if an exception left its loop."""
        if self._watching is not None:
            self._watching.stop()
            self._watching = None

    def _guard(self, patience: Patience) -> LeakGuard:
        guard = LeakGuard(
            self.settings.watch,
            out=self._run_file(),
            max_overhead=None,
            collect="never",
            trace="off" if self.traced else "tracemalloc",
            name=self.name,
            ignore=self.settings.ignore,
            report=None,
            follows=patience.is_over,
        )
        for name, (value, capacity) in self._gauges.items():
            guard.gauge(name, value, capacity)
        return guard

    def _numbers(
        self, guard: LeakGuard, garbage: Garbage, asked: int, verdicts: list[Judgement]
    ) -> Iterator[int]:
        """Yield the numbers of the rounds; after each batch, decide whether more are needed."""
        for attempt in range(1 + self.settings.retries):
            first = attempt * asked + 1
            if attempt:
                _return_free_memory()
                guard.inspect(AGAIN)
            yield from range(first, first + asked)
            run = garbage.added_to(guard.run)
            latest = judge(run, self.settings, first, self.older, traced=self.traced)
            verdicts[:] = [*verdicts, latest]
            del run
            if _is_decided(verdicts):
                return

    def _conclude(self, judgement: Judgement, done: int, asked: int) -> None:
        """Keep plain values of the last judgement, write its report, and raise if it failed."""
        __tracebackhide__ = True
        outcome = outcome_of(self.name, judgement, done, asked, self.folder)
        self.outcomes.append(outcome)
        if outcome["broken"]:
            raise MemoryBudgetBroken(failure_text(judgement, outcome, self._new_handles(judgement)))

    def _new_handles(self, judgement: Judgement) -> Sequence[str]:
        """Return lines that name new threads and files, if their number is limited or grew."""
        kinds = {found.kind for found in judgement.report.findings}
        limited = {"threads", "files"} & kinds or {"threads", "open_files"} & set(
            self.settings.budget.resources
        )
        return self._handles.new() if limited and self._handles is not None else ()

    def _run_file(self) -> Path | None:
        if self.folder is None:
            return None
        place = self.folder / f"run{len(self.outcomes) + 1 if self.outcomes else ''}.jsonl"
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {place}: {error.strerror}") from error
        return place


def _is_decided(verdicts: Sequence[Judgement]) -> bool:
    """Return whether more rounds are unnecessary.

    They are if nothing is in doubt, or if the same limit is broken in two consecutive batches.
    """
    latest = verdicts[-1]
    if not latest.doubtful:
        return True
    earlier = {check.subject for check in verdicts[-2].failed} if len(verdicts) > 1 else set()
    return any(check.subject in earlier for check in latest.failed)


def _return_free_memory() -> None:
    """Return freed memory to the system, so that the next peak is that of this test only."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(slots=True)
class Patience:
    """Says that growth is not followed to its holders until it is ``over``.

    This saves time: an inspection is needed only if a budget seems broken, and most are kept.
    """

    over: bool

    def is_over(self) -> bool:
        """Return whether growth is followed by now."""
        return self.over


class Garbage:
    """Collects garbage at the end of each generation, so that it never counts as live objects.

    After a generation that leaves much garbage, the collections of the next generations also record
    the types of the garbage.
    """

    def __init__(self) -> None:
        self._found: dict[int, Collection] = {}
        self._much = False

    def collect(self, generation: int) -> None:
        """Collect garbage; remember the collection if it freed a notable amount."""
        collection = heap.collect() if self._much else _collect()
        if is_notable(collection.freed, collection.bytes or 0):
            self._much = True
            self._found[generation] = collection

    def added_to(self, run: Run) -> Run:
        """Return ``run`` with the remembered collections in the snapshots of their generations."""
        if not self._found:
            return run
        shots = (
            replace(shot, collection=self._found.get(shot.generation or 0))
            if shot.moment == "generation"
            else shot
            for shot in run.snapshots
        )
        return replace(run, snapshots=tuple(shots))


def _collect() -> Collection:
    before = heap_in_use()
    freed = gc.collect()
    return Collection(freed, bytes=max(0, before - heap_in_use()))


def _forget_captured_records() -> None:
    """Clear the log records that pytest captured, because they keep alive what they refer to."""
    for handler in logging.getLogger().handlers:
        clear = getattr(handler, "clear", None)
        if type(handler).__module__ == "_pytest.logging" and callable(clear):
            clear()


def _is_traced(item: pytest.Item) -> bool:
    """Return whether pytest-memray records the allocations of the test."""
    marked = any(item.get_closest_marker(name) for name in _MEMRAY)
    return marked or bool(item.config.getoption("--memray", default=False))


def _slug(name: str) -> str:
    """Return a folder name for a test; if it differs from the test's name, it ends in a digest."""
    safe = re.sub(r"[^\w.-]+", "-", name.removesuffix("]")).strip("-.")
    if len(safe) > _LONGEST_LABEL or safe != name:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:6]
        safe = f"{safe[-_LONGEST_LABEL:].lstrip('-.')}-{digest}"
    return safe
