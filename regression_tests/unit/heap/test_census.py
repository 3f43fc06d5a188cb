"""A census counts every live object once, tracked or not, by its exact type."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict, deque, namedtuple

import pytest
from heap_engines import Engine, each_engine

from leakguard.capture.heap.frameworks import loaded
from leakguard.capture.heap.layout import layout_of

Pair = namedtuple("Pair", "left right")


class Agent:
    def __init__(self, name: str) -> None:
        self.name = name


class SpecialAgent(Agent):
    pass


class Slotted:
    __slots__ = ("left", "right")


def _count(engine: Engine, name: str) -> int:
    entry = engine.census().census.types.get(name)
    return 0 if entry is None else entry.count


@each_engine
def test_instances_of_wanted_classes_are_handed_out_once_and_by_exact_type(engine: Engine) -> None:
    held = [Agent("a"), Agent("b"), SpecialAgent("c"), 1.5]
    found = engine.instances(loaded(), lambda cls: cls is Agent or cls is float)
    assert {id(item) for item in held} - {id(item) for item in found} == {id(held[2])}
    assert len({id(item) for item in found}) == len(found)


@each_engine
def test_instances_of_a_class_with_a_hash_of_its_own_are_handed_out(engine: Engine) -> None:
    class Hostile(type):
        def __hash__(cls):
            raise AssertionError("user code was run")

        __eq__ = None

    held = Hostile("Trap", (), {})()
    found = engine.instances(loaded(), lambda cls: cls is type(held))
    assert [id(item) for item in found] == [id(held)]


@each_engine
def test_instances_are_counted_under_their_qualified_name(engine: Engine) -> None:
    held = [Agent(str(i)) for i in range(37)]
    assert _count(engine, f"{__name__}.Agent") == len(held)


@each_engine
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bytes", lambda i: b"%d leaf" % i),
        ("str", lambda i: f"leaf number {i} of the test"),
        ("float", lambda i: i + 0.123),
        ("int", lambda i: 10**12 + i),
        ("range", lambda i: range(i, i + 1000)),
    ],
)
def test_untracked_leaves_are_counted(engine: Engine, name: str, make) -> None:
    gc.collect()  # or garbage of other tests is freed between the counts
    before = _count(engine, name)
    held = [make(i) for i in range(500)]
    assert _count(engine, name) - before == pytest.approx(len(held), abs=20)


@each_engine
def test_leaves_behind_untracked_containers_are_counted(engine: Engine) -> None:
    held = [(f"first {i}", (f"second {i}",)) for i in range(300)]
    for _ in range(3):  # tuples of atoms leave the collector's lists, the innermost first
        gc.collect()
    assert not gc.is_tracked(held[0])
    before = _count(engine, "str")
    del held[100:]
    gc.collect()
    assert before - _count(engine, "str") == pytest.approx(400, abs=20)


@each_engine
def test_an_object_with_many_holders_counts_once(engine: Engine) -> None:
    one = Agent("shared")
    held = [[one] for _ in range(50)]
    assert _count(engine, f"{__name__}.Agent") == 1
    assert len(held) == 50


@each_engine
def test_locals_of_running_functions_are_counted(engine: Engine) -> None:
    def count_inside() -> int:
        payload = bytes(7_654_321)
        found = engine.census(large=7_000_000).census.large
        return sum(entry.bytes >= len(payload) for entry in found)

    assert count_inside() == 1


@each_engine
def test_watched_classes_count_their_subclasses(engine: Engine) -> None:
    held = [Agent("a"), SpecialAgent("b"), SpecialAgent("c")]
    watched = engine.census({"agents": Agent, "special": SpecialAgent}).watched
    assert watched == {"agents": 3, "special": 2}
    assert len(held) == 3


@each_engine
def test_frozen_objects_are_counted(engine: Engine) -> None:
    globals()["frozen_agents"] = [Agent("frozen") for _ in range(11)]
    gc.freeze()
    try:
        assert engine.census({"agents": Agent}).watched == {"agents": 11}
    finally:
        gc.unfreeze()
        del globals()["frozen_agents"]


@each_engine
def test_two_censuses_in_a_row_are_equal(engine: Engine) -> None:
    engine.census()
    first, second = (engine.census().census.types for _ in range(2))
    changed = {
        name: (first[name].count, entry.count)
        for name, entry in second.items()
        if name in first and entry.count > first[name].count
    }
    kept_by_this_test = {"dict", "int", "str", "tuple", "list", "float"}
    assert set(changed) <= kept_by_this_test


@each_engine
def test_the_engine_itself_is_not_counted(engine: Engine) -> None:
    assert not [name for name in engine.census().census.types if name.startswith("leakguard.")]


@each_engine
def test_coverage_is_the_explained_share_of_what_is_in_use(engine: Engine) -> None:
    census = engine.census()
    pooled = census.pooled_bytes
    assert 0 < pooled < census.python_bytes <= census.accounted_bytes
    assert census.coverage(census.accounted_bytes - pooled) == pytest.approx(1.0)
    assert census.coverage(2 * census.accounted_bytes - pooled) == pytest.approx(0.5)


@each_engine
def test_large_objects_are_listed_by_their_own_bytes(engine: Engine) -> None:
    held = bytearray(3_000_000)
    found = engine.census(large=2_500_000).census.large
    assert [(entry.type, entry.bytes) for entry in found if entry.type == "bytearray"] == [
        ("bytearray", sys.getsizeof(held))
    ]


class _PlainList(list):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    "item",
    [
        1, 2**100, -5, True, 1.5, "a", "é" * 9, b"abc", None, ..., (1, 2), Pair(1, 2), [1, 2],
        list(range(100)), {}, {1: 2}, set(), frozenset((1, 2)), deque(range(99)),
        OrderedDict(a=1), bytearray(9), Slotted(), _PlainList((1, 2)), range(3), print, sys,
        slice(1), memoryview(b"1"), Agent, (x for x in ()), sys.float_info,
        test_the_engine_itself_is_not_counted,
    ],
    ids=lambda item: type(item).__name__,
)  # fmt: skip
def test_sizes_are_those_of_getsizeof(item: object) -> None:
    assert layout_of(type(item)).size(item, 0, False) == sys.getsizeof(item)


def test_attributes_outside_of_the_instance_are_part_of_its_size() -> None:
    slim, full = Agent.__new__(Agent), Agent("named")
    full.level = 3  # type: ignore[attr-defined]
    sizes = [
        layout_of(Agent).size(item, len(gc.get_referents(item)), False) for item in (slim, full)
    ]
    if sys.version_info >= (3, 11):
        assert sizes[1] - sizes[0] >= 2 * 8
    else:
        assert sizes[1] == sizes[0]  # there they are in a dict of their own
