"""Sequences with empty slots, and what holds them."""

from __future__ import annotations

import collections
import os
import sys
import time
from typing import Any

from broken_objects.c_api import blank, empty_slot, new_list, new_record, new_tuple, store, untrack
from broken_objects.classes import ListKind, Plain, Point, SlottedList, TupleKind
from broken_objects.kinds import Look, kind


@kind
def list_of_empty_slots(look: Look) -> Any:
    return new_list(7)


@kind
def large_list_of_empty_slots(look: Look) -> Any:
    return new_list(100_000)


@kind
def list_filled_half_way(look: Look) -> Any:
    half = new_list(10)
    for position in range(5):
        store(half, position, {"number": position})
    return half


@kind
def list_with_one_hole(look: Look) -> Any:
    whole = [object() for _ in range(9)]
    empty_slot(whole, 4)
    return whole


@kind
def list_subclass_with_holes(look: Look) -> Any:
    whole = ListKind([[], {}, set()])
    whole.attribute = [1]
    empty_slot(whole, 0)
    empty_slot(whole, 2)
    return whole


@kind
def list_subclass_with_slots_and_its_own_class_in_one(look: Look) -> Any:
    whole = SlottedList([object(), SlottedList, object()])
    whole.first = SlottedList
    empty_slot(whole, 0)
    return whole


@kind
def list_of_half_built_lists_that_holds_itself(look: Look) -> Any:
    outer = new_list(4)
    store(outer, 0, new_list(2))
    store(outer, 1, outer)
    store(outer, 3, new_tuple(2))
    return outer


@kind
def untracked_list_of_empty_slots(look: Look) -> Any:
    half = new_list(3)
    untrack(half)
    return [half]


@kind
def tuple_of_empty_slots(look: Look) -> Any:
    return new_tuple(5)


@kind
def tuple_with_one_hole(look: Look) -> Any:
    whole = ([], [], [])
    empty_slot(whole, 1)
    return whole


@kind
def untracked_tuple_of_empty_slots(look: Look) -> Any:
    half = new_tuple(3)
    untrack(half)
    return [half]


@kind
def tuple_subclass_of_empty_slots(look: Look) -> Any:
    return blank(TupleKind, 5)


@kind
def named_tuple_of_empty_slots(look: Look) -> Any:
    return blank(Point, 3)


@kind
def named_tuple_with_one_hole(look: Look) -> Any:
    whole = Point([], [], [])
    empty_slot(whole, 1)
    return whole


@kind
def record_of_the_system_without_fields(look: Look) -> Any:
    return [new_record(os.stat_result), new_record(time.struct_time)]


@kind
def half_built_sequences_as_values_and_keys_of_attributes(look: Look) -> Any:
    holder = Plain()
    holder.values = new_list(3)
    holder.pair = (new_tuple(2), new_list(1))
    return holder


@kind
def deque_and_object_array_of_half_built_lists(look: Look) -> Any:
    held = collections.deque([new_list(2), new_tuple(2)], maxlen=4)
    return held, _object_array([new_list(2), new_tuple(1)])


def _object_array(items: list[Any]) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return items
    made = numpy.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        made[position] = item
    return made


@kind
def cycles_through_object_arrays(look: Look) -> Any:
    ring = _object_array([None, None])
    ring[0], ring[1] = ring, [ring]
    return ring
