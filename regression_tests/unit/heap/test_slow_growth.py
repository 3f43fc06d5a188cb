"""What grows now and then, what grows without entries, and what only a context leads to."""

from __future__ import annotations

import contextvars
import functools
import queue
import weakref
from collections import OrderedDict, deque

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap import Inspection
from leakguard.capture.heap.capacity import declared_capacity
from leakguard.capture.streak import Streak
from leakguard.model.holder import Holder


class Ticket:
    pass


class Label:
    pass


class Desk:
    def __init__(self) -> None:
        self.closed: list[object] = []
        self.transcript = "x" * 100_000
        self.other: Desk | None = None


class Cache:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries: OrderedDict[int, object] = OrderedDict()


class TwoLists:
    def __init__(self) -> None:
        self.capacity = 100
        self.kept: list[int] = []
        self.ring: list[int] = []


def _looks(engine: Engine, step, rounds: int, suspects: tuple[str, ...] = ()) -> list[Inspection]:
    from leakguard.capture.heap import PathMemory
    from leakguard.capture.heap.inspection import take_inspection

    looks: list[Inspection] = []
    memory = PathMemory()
    for number in range(rounds):
        step(number)
        found = take_inspection(engine.graph, engine.name, memory, (), 50_000_000, 20, suspects)
        memory = found.memory
        looks.append(found)
    return looks


def _holder(look: Inspection, ending: str) -> Holder | None:
    return next((h for h in look.holders if h.path.endswith(ending)), None)


@each_engine
def test_growth_in_every_second_round_is_followed_through_its_rests(engine: Engine) -> None:
    desk = Desk()

    def step(number: int) -> None:
        if number % 2:
            desk.closed.extend(Ticket() for _ in range(30))

    looks = _looks(engine, step, rounds=6)
    found = _holder(looks[-1], "Desk.closed[*]")
    assert found is not None
    assert (found.entries, found.streak) == (90, 2)


@each_engine
def test_text_that_is_extended_is_named_without_entries(engine: Engine) -> None:
    desk = Desk()

    def step(number: int) -> None:
        desk.transcript += "y" * 100_000

    found = _holder(_looks(engine, step, rounds=4)[-1], "Desk.transcript")
    assert found is not None
    assert (found.element, found.streak) == ("str", 3)
    assert found.retained_bytes == pytest.approx(500_000, rel=0.01)


@each_engine
def test_text_that_keeps_its_length_does_not_grow(engine: Engine) -> None:
    desk = Desk()

    def step(number: int) -> None:
        desk.transcript = f"{number}" * 100_000

    assert _holder(_looks(engine, step, rounds=4)[-1], "Desk.transcript") is None


@each_engine
def test_values_of_a_context_variable_are_held_by_it(engine: Engine) -> None:
    spans: contextvars.ContextVar[list[Ticket]] = contextvars.ContextVar("spans")
    token = spans.set([])

    def step(number: int) -> None:
        spans.get().extend(Ticket() for _ in range(10))

    found = _holder(_looks(engine, step, rounds=4)[-1], "context variable spans[*]")
    spans.reset(token)
    assert found is not None
    assert (found.element, found.entries) == (f"{__name__}.Ticket", 40)


@each_engine
def test_class_under_suspicion_is_found_where_most_instances_are(engine: Engine) -> None:
    desk = Desk()
    desk.closed = [Label() for _ in range(10)]
    look = _looks(engine, lambda number: None, rounds=1, suspects=(f"{__name__}.Label",))[0]
    found = _holder(look, "Desk.closed[*]")
    assert found is not None
    assert (found.element, found.entries, found.streak) == (f"{__name__}.Label", 10, 0)


@functools.cache
def answer(key: int) -> bytes:
    return bytes(10_000)


@each_engine
def test_entries_of_a_cache_without_a_bound_are_held_by_the_cache(engine: Engine) -> None:
    answer.cache_clear()
    answer(-1)
    found = _holder(_looks(engine, answer, rounds=3)[-1], "lru_cache of answer[*]")
    assert found is not None
    assert (found.element, found.entries, found.streak) == ("bytes", 4, 2)


@each_engine
def test_entries_of_a_weak_dictionary_are_told_by_their_weak_keys(engine: Engine) -> None:
    desk, tickets = Desk(), []
    desk.other = weakref.WeakKeyDictionary()  # type: ignore[assignment]

    def step(number: int) -> None:
        tickets.append(Ticket())
        desk.other[tickets[-1]] = [number]  # type: ignore[index]

    found = _holder(_looks(engine, step, rounds=3)[-1], "other.data[*]")
    assert found is not None
    assert (found.element, found.entries) == ("weakref.ReferenceType", 3)


@each_engine
def test_contents_that_vary_in_size_are_told_as_entries_of_their_container(engine: Engine) -> None:
    desk = Desk()

    def step(number: int) -> None:
        desk.closed.append(bytes(100_000 * (number + 1)))

    told = [h for h in _looks(engine, step, rounds=4)[-1].holders if h.path.endswith("closed[*]")]
    assert [(holder.element, holder.entries) for holder in told] == [("bytes", 4)]


@functools.lru_cache(maxsize=50)
def cached(number: int) -> Ticket:
    return Ticket()


def test_capacity_is_what_the_container_or_its_owner_declares():
    own, bounded = Cache(200), queue.Queue(maxsize=30)
    assert declared_capacity(deque(maxlen=7), lambda: None) == 7
    assert declared_capacity({}, lambda: cached) == 50
    assert declared_capacity(bounded.queue, lambda: bounded) == 30
    assert declared_capacity(own.entries, lambda: own) == 200


def test_capacity_of_an_unbounded_container_is_unknown():
    endless, two = queue.Queue(), TwoLists()
    assert declared_capacity(deque(), lambda: None) is None
    assert declared_capacity(endless.queue, lambda: endless) is None
    # the bound may be that of the other list
    assert declared_capacity(two.kept, lambda: two) is None
    assert declared_capacity([], Desk) is None


def test_growth_that_rests_longer_than_ever_before_does_not_go_on():
    grown = Streak().after(grew=True, fell=False).after(grew=True, fell=False)
    assert grown.goes_on
    resting = grown.after(grew=False, fell=False)
    assert not resting.goes_on
    again = resting.after(grew=True, fell=False).after(grew=False, fell=False)
    assert again.goes_on
    assert not again.after(grew=False, fell=True).goes_on


def test_what_looks_remember_is_in_no_census_and_what_the_program_packs_is():
    from array import array

    from leakguard.capture.heap import census
    from leakguard.capture.heap.column import Column

    def counted() -> int:
        return census().census.types["array.array"].count

    own = [array("q", [0])]
    before = counted()
    columns = [Column("q", range(1000)) for _ in range(50)]
    assert counted() == before
    own += [array("q", range(1000)) for _ in range(50)]
    assert counted() == before + 50
    assert len(columns) == 50


@each_engine
def test_values_of_a_kept_context_have_the_name_of_their_variable(engine: Engine) -> None:
    rows: contextvars.ContextVar[list[Ticket]] = contextvars.ContextVar("rows")
    kept: list[contextvars.Context] = []

    def step(number: int) -> None:
        context = contextvars.Context()
        context.run(rows.set, [Ticket() for _ in range(10 * number)])
        kept[:] = [context]

    found = _looks(engine, step, rounds=4)[-1].holders
    (told,) = (holder for holder in found if holder.element == f"{__name__}.Ticket")
    assert told.path.endswith("[*] → context variable rows[*]")
