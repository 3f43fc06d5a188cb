"""Looks at a moment in between two states."""

from __future__ import annotations

import asyncio
import collections
import functools
import json
import sys
import weakref
from typing import Any

from broken_objects.classes import DictKind, Plain
from broken_objects.kinds import Look, kind


@kind
def look_while_a_class_has_no_order_of_resolution(look: Look) -> Any:
    class Meta(type):
        def mro(cls) -> Any:
            held.append(cls)
            look()
            return super().mro()

    held: list[Any] = []
    return Meta("Made", (), {}), held


@kind
def look_while_a_class_names_its_parts(look: Look) -> Any:
    class Part:
        def __set_name__(self, owner: type, name: str) -> None:
            look()

    class Base:
        def __init_subclass__(cls) -> None:
            look()

    return type("Made", (Base,), {"part": Part()})


@kind
def look_while_a_list_is_sorted(look: Look) -> Any:
    looked = []

    def key(item: int) -> int:
        if not looked:
            looked.append(item)
            look()
        return -item

    numbers = list(range(50))
    numbers.sort(key=key)
    return numbers


@kind
def look_while_a_dict_compares_and_a_set_hashes(look: Look) -> Any:
    class Key:
        def __hash__(self) -> int:
            look()
            return 7

        def __eq__(self, other: object) -> bool:
            look()
            return False

    return {Key(): 1, Key(): 2}, {Key()}


@kind
def look_while_an_object_dies(look: Look) -> Any:
    class Dying:
        def __init__(self) -> None:
            self.around = [self]
            self.proxy = weakref.proxy(self)

        def __del__(self) -> None:
            look()

    dying = Dying()
    dying.around.clear()
    del dying


@kind
def look_while_a_weak_reference_calls_back(look: Look) -> Any:
    target = Plain()
    watching = weakref.ref(target, lambda reference: look())
    proxy = weakref.proxy(target, lambda reference: look())
    del target
    return watching, proxy


@kind
def look_while_an_instance_has_no_init_yet(look: Look) -> Any:
    class Late(DictKind):
        def __new__(cls) -> Any:
            made = super().__new__(cls)
            held.append(made)
            look()
            return made

    held: list[Any] = []
    return Late(), held


@kind
def look_while_generators_run(look: Look) -> Any:
    def inner() -> Any:
        look()
        yield 1

    def outer() -> Any:
        yield from inner()

    running = outer()
    next(running)
    finished = outer()
    list(finished)
    closed = outer()
    closed.close()
    return running, finished, closed


@kind
def look_while_coroutines_wait(look: Look) -> Any:
    async def source() -> Any:
        yield 1
        look()
        yield 2

    async def main() -> None:
        waiting = asyncio.ensure_future(asyncio.sleep(30))
        async for _ in source():
            await asyncio.sleep(0)
        look()
        waiting.cancel()

    asyncio.run(main())
    never = main()
    weakref.finalize(never, int)
    return never


@kind
def look_while_a_deque_is_filled_and_a_dict_is_updated(look: Look) -> Any:
    def source() -> Any:
        for number in range(3):
            look()
            yield number, [number]

    return (
        collections.deque(source(), maxlen=2),
        dict(source()),
        [*source()],
        set(map(str, source())),
    )


@kind
def look_while_a_trace_function_runs(look: Look) -> Any:
    def trace(frame: Any, event: str, argument: Any) -> None:
        sys.setprofile(None)
        look()

    sys.setprofile(trace)
    len([])
    sys.setprofile(None)


@kind
def look_while_a_value_is_made_for_a_missing_key(look: Look) -> Any:
    class Missing(collections.defaultdict):  # type: ignore[type-arg]
        def __missing__(self, key: object) -> list[int]:
            look()
            return [1]

    @functools.lru_cache(maxsize=2)
    def cached(number: int) -> list[int]:
        look()
        return [number]

    made = Missing(list)
    made[1]
    cached(1), cached(2), cached(3)
    return made, cached


@kind
def look_while_json_and_a_sorted_key_call_back(look: Look) -> Any:
    decoded = json.loads('[{"a": [1]}]', object_hook=lambda found: look() or found)
    return decoded, max([3, 1], key=lambda number: look() or number)
