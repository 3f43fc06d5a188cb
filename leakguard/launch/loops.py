"""Counts the rounds of the program's own loops in C code, with one Python call per many rounds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import PurePath
from threading import get_ident
from typing import Any

from leakguard.launch.pace import Pace
from leakguard.launch.steps import Rank, StepSource
from leakguard.live.call_stack import gives_way
from leakguard.live.main_thread import is_main_thread

#: A loop is ignored once it has begun this many times while another kind of step was counted.
#: Chosen: a loop that begins so often is an inner loop, whose rounds are no generations.
OFTEN = 100


class Loops:
    """Follows the marked loops in the code of one file; see ``main_code``."""

    def __init__(self, pace: Pace, file: str) -> None:
        self._pace = pace
        self._file = PurePath(file).name
        self._beside: Counter[int] = Counter()

    def over(self, items: Iterable[Any], line: int) -> Iterator[Any]:
        """Return the items of a ``for`` loop at ``line``, in their order, one at a time."""
        if self._beside[line] >= OFTEN:
            return iter(items)
        return chain.from_iterable(iter(_Batches(self, iter(items), line), None))

    def rounds(self, line: int) -> WhileLoop:
        """Return what a ``while`` loop that begins at ``line`` iterates over and calls."""
        if self._beside[line] >= OFTEN:
            return _UNSEEN
        batches = _Batches(self, None, line)
        return WhileLoop(
            chain.from_iterable(iter(_LoopEnd(batches), None)),
            chain.from_iterable(iter(batches, None)).__next__,
            batches.finish,
        )

    def source(self, line: int) -> StepSource:
        """Return the source of steps of a loop that begins."""
        if self._pace.chosen is not None:
            self._beside[line] += 1
        thread = None if is_main_thread() else get_ident()
        rank = Rank.LOOP if thread is None else Rank.THREAD_LOOP
        detail = f" of the loop at {self._file}:{line}"
        return self._pace.add(StepSource(rank, "round", detail, thread=thread))

    def begun(self, source: StepSource) -> int:
        """Record that a round begins; return how many may pass unseen, including this one."""
        return self._pace.step(source, _MANY)

    def ended(self, source: StepSource, *, whole: bool) -> None:
        """Record that the loop is over."""
        self._pace.ended(source, whole=whole)


class WhileLoop:
    """A running ``while`` loop: it iterates over ``items``, which are dropped when it is left.

    Attributes:
        items: as many empty tuples as the loop takes.
        begin: called at the beginning of each round.
        finish: called when the loop's condition is false, so that its last round was complete.
    """

    def __init__(
        self,
        items: Iterator[tuple[()]],
        begin: Callable[[], None] = lambda: None,
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        self.items, self.begin, self.finish = items, begin, finish


# A loop that is not followed.
_UNSEEN = WhileLoop(repeat(()))


class _LoopEnd:
    """Reports that a ``while`` loop was left: only the items of the loop hold this object."""

    def __init__(self, batches: _Batches) -> None:
        self._batches = batches

    def __call__(self) -> Iterator[tuple[()]]:
        return repeat(())

    def __del__(self) -> None:
        self._batches.leave()


_MANY = 1 << 16


class _Batches:
    """The items of one loop in batches; it holds no item. Without items, the batches are endless.

    An iterator calls it; it is not an iterator itself, because a generator that two threads enter
    fails.
    """

    def __init__(self, loops: Loops, items: Iterator[Any] | None, line: int) -> None:
        self._loops = loops
        self._items = items
        self._line = line
        self._source: StepSource | None = None

    def __call__(self) -> Iterator[Any] | None:
        if self._items is None:
            return repeat(None, self._begun() or 1)
        head = list(islice(self._items, 1))
        if not head:
            self.finish()
            return None
        return chain(_given_away(head), islice(self._items, (self._begun() or 1) - 1))

    @gives_way
    def _begun(self) -> int:
        if self._source is None:
            self._source = self._loops.source(self._line)
        return self._loops.begun(self._source)

    def finish(self) -> None:
        """Record that no round is running."""
        self._end(whole=True)

    def leave(self) -> None:
        """Record that a break, a return or an exception has left the loop, unless it was over."""
        # While the interpreter shuts down, module names may be gone.
        if sys is not None and not sys.is_finalizing():
            self._end(whole=False)

    __del__ = leave

    @gives_way
    def _end(self, *, whole: bool) -> None:
        source, self._source = self._source, None
        if source is not None:
            self._loops.ended(source, whole=whole)


def _given_away(head: list[Any]) -> Iterator[Any]:
    """Yield the only element and remove it from the list, so that its round can free it."""
    yield head.pop()
