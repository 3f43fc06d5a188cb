"""Tries each change on the runs whose reports could depend on it, and counts what it changes."""

from __future__ import annotations

import gc
import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import Pool
from types import FrameType

from leakguard.model import Run
from regression_tests.corpus.judge import Judged, judged, without_report
from regression_tests.corpus.keys import Key
from regression_tests.corpus.weighing.loading import Diagnose, diagnose_with
from regression_tests.corpus.weighing.rules import ENTRY, Change
from regression_tests.corpus.weighing.watching import Watched, Watcher

PROCESSES = 2
#: Runs that a change is tried on at first. Where it changes none of these, it is tried on all.
FIRST = 12
#: Times as long as the longest run takes with the rules of now, and seconds at the least, that one
#: may take with another: some loops do not end with a value that they were not made for.
PATIENCE, LEAST_SECONDS = 10.0, 2.0


@dataclass(frozen=True, slots=True)
class Weight:
    """What one change is worth.

    Attributes:
        touched: runs whose report could depend on it; all of them where that is not known.
        tried: of these, how many were judged with it.
        changed: of these, the runs with another report.
        found: leaks found more, or less.
        accused: false accusations more, or less.
    """

    change: Change
    touched: int
    tried: int
    changed: tuple[str, ...]
    found: int
    accused: int


@dataclass(frozen=True, slots=True)
class Scales:
    """The runs, and what is said of them now."""

    runs: Mapping[str, tuple[Key, Run]]
    now: Mapping[str, Judged]
    touched: Mapping[str, frozenset[Watched] | None]
    seconds: float

    def weigh(self, change: Change) -> Weight:
        """Try a change; of the process that does, the judgement is another from then on."""
        touched = [run for run in self.runs if self._is_touched(run, change)]
        if not touched:
            return Weight(change, 0, 0, (), 0, 0)
        diagnose = diagnose_with(lambda module, tree: change.made_in(tree), change.module)
        tried = self._tried(touched[:FIRST], diagnose)
        if not any(one != self.now[one.run] for one in tried):
            tried += self._tried(touched[FIRST:], diagnose)
        other = [one for one in tried if one != self.now[one.run]]
        return Weight(
            change,
            len(touched),
            len(tried),
            tuple(one.run for one in other),
            sum(_found(one) - _found(self.now[one.run]) for one in other),
            sum(one.accused - self.now[one.run].accused for one in other),
        )

    def _is_touched(self, run: str, change: Change) -> bool:
        known = self.touched[run]
        watched = change.how != ENTRY
        return known is None or not watched or (change.module, change.rule, change.how) in known

    def _tried(self, runs: Sequence[str], diagnose: Diagnose) -> list[Judged]:
        return list(_said([self.runs[run] for run in runs], diagnose, self.seconds))


def _found(one: Judged) -> int:
    return sum(mark.detected for mark in one.marks)


def _said(runs: Iterable[tuple[Key, Run]], diagnose: Diagnose, seconds: float) -> Iterator[Judged]:
    signal.signal(signal.SIGVTALRM, _give_up)
    for key, run in runs:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield judged(key, diagnose(run))
        except TimeoutError as error:  # the next ones would not end either
            yield without_report(key, error)
            return
        except Exception as error:  # the formulas do not take every value
            yield without_report(key, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _give_up(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError("does not end")


_RUNS: dict[str, tuple[Key, Run]] = {}  # read once; the processes that are forked share it
_SCALES: list[Scales] = []


def weigh(
    runs: Mapping[str, tuple[Key, Run]], wanted: Iterable[Change], seconds: float = math.inf
) -> Iterator[Weight]:
    """Yield what each change is worth, as they come ready.

    Runs that take more than ``seconds`` to judge are left out: a few long ones take most of the
    time. How many are left, ``weighed_runs`` says once the first change is weighed.

    Raises:
        ValueError: no run is left.
    """
    _RUNS.clear()
    _RUNS.update(runs)
    gc.freeze()  # or each process would go through all runs, and copy them, to collect garbage
    with _pool() as pool:
        now, took = pool.apply(_judged_now)
    for run in [run for run in _RUNS if took[run] > seconds]:
        del _RUNS[run]
    if not _RUNS:
        raise ValueError(f"no run is judged within {seconds} seconds")
    with _pool(_begin_to_watch, None) as pool:
        touched = dict(pool.imap_unordered(_touched, _RUNS))
    longest = max(took[run] for run in _RUNS)
    _SCALES[:] = [Scales(_RUNS, now, touched, max(PATIENCE * longest, LEAST_SECONDS))]
    with _pool(None, 1) as pool:
        yield from pool.imap_unordered(_weighed, wanted)


def weighed_runs() -> int:
    """Return on how many runs the last changes were weighed."""
    return len(_RUNS)


def _pool(begin: Callable[[], None] | None = None, tasks: int | None = None) -> Pool:
    return multiprocessing.get_context("fork").Pool(PROCESSES, begin, maxtasksperchild=tasks)


def _judged_now() -> tuple[dict[str, Judged], dict[str, float]]:
    from leakguard.analysis.diagnosis import diagnose

    said, took = {}, {}
    for run, (key, its) in _RUNS.items():
        begun = time.process_time()
        said[run] = judged(key, diagnose(its))
        took[run] = time.process_time() - begun
    return said, took


_WATCHER: list[Watcher] = []


def _begin_to_watch() -> None:
    _WATCHER.append(Watcher())


def _touched(run: str) -> tuple[str, frozenset[Watched] | None]:
    try:
        return run, _WATCHER[0].depends_on(_RUNS[run][1])
    except Exception:  # a place that takes no number in doubt: nothing is known of the run
        return run, None


def _weighed(change: Change) -> Weight:
    return _SCALES[0].weigh(change)
