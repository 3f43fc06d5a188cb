"""The loops that a guard follows: any iterable, an async one, a count, or calls in a loop body."""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from leakguard.errors import UsageError
from leakguard.live.active import close_phases_beyond, is_interrupt, open_phases
from leakguard.live.call_stack import gives_way
from leakguard.live.loop import WatchedLoop
from leakguard.live.round import Round

T = TypeVar("T")
# The largest integer that every reader of JSON holds exactly (RFC 8259, section 6).
_LARGEST = 2**53 - 1


class Generations(Generic[T]):
    """Yields the items of a loop, and records each loop body as a generation.

    It works in ``for`` and ``async for``.
    """

    def __init__(self, loop: WatchedLoop, rounds: Iterable[T] | AsyncIterable[T]) -> None:
        self._loop = loop
        self._rounds = rounds
        self._last = _last_of(rounds)
        self._running: Iterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        own: list[weakref.ref[Any]] = []
        loop = self._items(own)
        own.append(weakref.ref(loop))
        return loop

    def _items(self, own: list[weakref.ref[Any]]) -> Iterator[T]:
        self._announce()
        round_ = None
        for index, item in enumerate(cast("Iterable[T]", self._rounds)):
            outer, round_ = open_phases(), self._begin(index, item, own)
            left = False
            try:
                yield item
            except GeneratorExit:  # the loop was left, perhaps by an interrupt
                close_phases_beyond(outer)
                left = True
                raise
            finally:
                self._end(round_, left=left)
            if round_ is not None:
                self._loop.ring()
        self._over(round_)

    def __aiter__(self) -> AsyncIterator[T]:
        own: list[weakref.ref[Any]] = []
        loop = self._async_items(own)
        own.append(weakref.ref(loop))
        return loop

    async def _async_items(self, own: list[weakref.ref[Any]]) -> AsyncIterator[T]:
        self._announce()
        round_, index = None, 0
        async for item in _asynchronous(self._rounds):
            outer, round_ = open_phases(), self._begin(index, item, own)
            index, left = index + 1, False
            try:
                yield item
            except GeneratorExit:
                close_phases_beyond(outer)
                left = True
                raise
            finally:
                self._end(round_, left=left)
            if round_ is not None:
                self._loop.ring()
        self._over(round_)

    def __next__(self) -> T:
        self._running = self._running or iter(self)
        return next(self._running)

    @gives_way
    def _announce(self) -> None:
        self._loop.announce(None if self._last is None else self._last + 1)

    @gives_way
    def _begin(self, index: int, item: T, own: list[weakref.ref[Any]]) -> Round | None:
        number, last = _number_of(item, index + 1), index == self._last
        begun = self._loop.begin_round(number, last=last, is_left=lambda: _has_ended(*own))
        return self._loop.round if begun else None

    @gives_way
    def _end(self, round_: Round | None, *, left: bool) -> None:
        """End a round; if the guard is at work, do so after that work.

        A generator that is left ends when its last reference goes. That reference may be held by
        another thread, which looks at the heap to cut a trace.
        """
        self._loop.safety.request(lambda: self._end_if_open(round_, left=left))

    def _end_if_open(self, round_: Round | None, *, left: bool) -> None:
        """End a round unless it has ended.

        An event loop may close an async loop late. By then the next loop may have begun and ended
        this round.
        """
        if round_ is not None and self._loop.round is round_:
            self._loop.end_round()
            if left:
                self._loop.over()

    @gives_way
    def _over(self, round_: Round | None) -> None:
        """Note that the loop is over, unless it was a part of another loop's generation."""
        if round_ is not None:
            self._loop.over()


def _has_ended(loop: weakref.ref[Any]) -> bool:
    """Return whether a generator is gone or has ended; a traceback may keep it alive."""
    running = loop()
    frame = "ag_frame" if isinstance(running, AsyncIterator) else "gi_frame"
    return getattr(running, frame, None) is None


class Generation:
    """A generation that has begun; it ends with its ``with`` block, or when the next one begins."""

    def __init__(self, loop: WatchedLoop, number: int | None) -> None:
        self._loop = loop
        self._outer = open_phases()
        self._begun = self._begin(number)

    @gives_way
    def _begin(self, number: int | None) -> bool:
        return self._loop.call_round(_own_number(number))

    @gives_way
    def _end(self) -> None:
        self._loop.end_round()

    def __enter__(self) -> Generation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if is_interrupt(error):
            close_phases_beyond(self._outer)
        if self._begun:
            self._end()
            if kind is None:
                self._loop.ring()

    @property
    def number(self) -> int | None:
        """The number of this generation while it runs; None if none has begun."""
        return self._loop.round.number if self._begun else None

    def take_together(self, number: int) -> None:
        """Record ``number`` generations as this one, which has the number of the last of them."""
        if self._begun and number > 1:
            self._loop.round.taken = number

    def means(self, words: str) -> None:
        """Note what a generation is from this one on, if that has changed."""
        if self._begun:
            number = self._loop.round.number
            self._loop.safety.note("generations", f"from generation {number} on, one is {words}")

    def end_with_program(self) -> None:
        """End the generation at the end of the program, when its functions have returned."""
        if self._begun:
            self._loop.end_called()

    def loop_over(self, *, outermost: bool = False) -> None:
        """Note that a loop around this generation has ended; ``outermost`` if no other goes on."""
        self._loop.over(outermost=outermost)


def checked_rounds(rounds: Any) -> Iterable[Any] | AsyncIterable[Any]:
    """Return an iterable: ``rounds`` itself, a range for a number, an endless count for None.

    Raises:
        UsageError: ``rounds`` cannot be looped over.
    """
    if rounds is None:
        return itertools.count()
    if any(_has(rounds, name) for name in ("__aiter__", "__iter__", "__getitem__")):
        return cast("Iterable[Any]", rounds)
    try:
        return range(operator.index(rounds))
    except TypeError:
        raise UsageError(
            f"generations() takes an iterable or a number of generations, not "
            f"{type(rounds).__name__}"
        ) from None


def _has(rounds: object, name: str) -> bool:
    """Return whether the class of an object, not its metaclass, defines a method."""
    return any(vars(kind).get(name) is not None for kind in type(rounds).__mro__)


def _last_of(rounds: object) -> int | None:
    """Return the index of the last round, if the length is known beforehand."""
    try:
        return len(cast("Any", rounds)) - 1
    except Exception:  # many iterables have no length, and some raise other exceptions
        return None


def _number_of(item: object, counted: int) -> int:
    """Return the generation's number: an integer item itself, else how many items there were."""
    own = _own_number(item)
    return counted if own is None else own


def _own_number(item: object) -> int | None:
    """Return the value of a Python or NumPy integer that a run file can hold; else None."""
    kind = type(item)
    if kind is int or (kind.__module__ == "numpy" and kind.__name__.startswith(("int", "uint"))):
        number = int(cast("int", item))
        return number if abs(number) <= _LARGEST else None
    return None


async def _asynchronous(rounds: Any) -> AsyncIterator[Any]:
    if hasattr(type(rounds), "__aiter__"):
        async for item in rounds:
            yield item
        return
    for item in rounds:
        yield item
