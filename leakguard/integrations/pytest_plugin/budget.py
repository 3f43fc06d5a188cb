"""The memory budget of one test: its rounds, and what becomes of them."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.errors import MemoryBudgetBroken, UsageError
from leakguard.guard import LeakGuard
from leakguard.integrations.pytest_plugin.captured import forget_captured_records
from leakguard.integrations.pytest_plugin.garbage import Garbage
from leakguard.integrations.pytest_plugin.judgement import Judgement, judge
from leakguard.integrations.pytest_plugin.outcome import Outcome, failure_text, outcome_of
from leakguard.integrations.pytest_plugin.patience import Patience
from leakguard.integrations.pytest_plugin.settings import Settings, rounds

__all__ = ["MemoryBudget"]

AGAIN = "Before the rounds to be sure"


@dataclass(slots=True, repr=False)
class MemoryBudget:
    """What a test may use, judged over several rounds of the same work.

    Example::

        @pytest.mark.memory_budget(growth="1 GB", constant={TradingEnvironment: 2})
        def test_a_generation_keeps_nothing(memory_budget, trainer):
            for generation in memory_budget.generations(5):
                trainer.run_generation(generation)

    A budget that is broken after the rounds asked for gets as many again, at most twice unless the
    settings say otherwise: warm-ups and buffers that fill need time. It fails when the same limit
    is broken in two batches of rounds in a row, or when the last batch breaks any. Log records that
    pytest captured are cleared after each round, since pytest would keep them.

    Attributes:
        name: of the test.
        settings: the limits.
        older: instances of watched classes that were alive before the test began.
        folder: where the run and its report go; None for nowhere.
        traced: whether another tool records allocations during the test.
        outcomes: one for each loop that ended, in plain values.
    """

    name: str
    settings: Settings
    older: Mapping[str, int] = field(default_factory=dict)
    folder: Path | None = None
    traced: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    _gauges: dict[str, tuple[Callable[[], float], float | None]] = field(default_factory=dict)
    _open: tuple[int, int] | None = None
    _watching: LeakGuard | None = None

    def __repr__(self) -> str:
        return f"<memory budget of {self.name}>"

    def gauge(self, name: str, value: Callable[[], float], capacity: float | None = None) -> None:
        """Report a number of your own; with a ``capacity``, growth that follows it is filling."""
        self._gauges[name] = (value, capacity)

    def generations(self, count: int | None = None) -> Iterator[int]:
        """Yield the numbers of the rounds from 1, and judge the budget after the last one.

        Raises:
            MemoryBudgetBroken: a limit is broken, and more rounds did not mend it.
            UsageError: ``count`` is too small for any verdict.
        """
        __tracebackhide__ = True
        asked = rounds(self.settings.generations if count is None else count,
                       self.settings.budget.warmup)  # fmt: skip
        patience = Patience(over=not self.settings.retries)
        guard, garbage = self._guard(patience), Garbage()
        self._watching = guard
        verdicts: list[Judgement] = []
        with guard:
            gc.collect()
            guard.snapshot("Before the first generation", baseline=True)
            for number in guard.generations(self._numbers(guard, garbage, asked, verdicts)):
                self._open = (number - 1, asked)
                patience.over = number > asked or patience.over
                yield number
                forget_captured_records()
                garbage.collect(number)
        self._open = self._watching = None
        del guard
        self._conclude(verdicts[-1], len(verdicts) * asked, asked)

    def unfinished(self) -> str | None:
        """Return why the budget was not judged although the test is over; None when it was."""
        if self._open is not None:
            done, asked = self._open
            return f"the loop over memory_budget.generations() was left after {done} of {asked}"
        if not self.outcomes:
            return "the test never looped over memory_budget.generations()"
        return None

    def close(self) -> None:
        """Let go of a guard whose loop was left by an exception."""
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
            suspicion=lambda: patience,
        )
        for name, (value, capacity) in self._gauges.items():
            guard.gauge(name, value, capacity)
        return guard

    def _numbers(
        self, guard: LeakGuard, garbage: Garbage, asked: int, verdicts: list[Judgement]
    ) -> Iterator[int]:
        """Yield the rounds; after each batch of them decide whether more are needed."""
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
        """Keep plain values of the last judgement, write its report, and fail if it must."""
        __tracebackhide__ = True
        outcome = outcome_of(self.name, judgement, done, asked, self.folder)
        self.outcomes.append(outcome)
        if outcome["broken"]:
            raise MemoryBudgetBroken(failure_text(judgement, outcome))

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
    """True when more rounds would not change the outcome: all is well, or the same again is not."""
    latest = verdicts[-1]
    if not latest.doubtful:
        return True
    earlier = {check.subject for check in verdicts[-2].failed} if len(verdicts) > 1 else set()
    return any(check.subject in earlier for check in latest.failed)


def _return_free_memory() -> None:
    """Give back what the allocator holds: the next peak is then of this test and no other."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
