"""Leaks of extensions written in Cython, or made by it."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from regression_tests.benchmarks.packages.pair import Call, pair


@pair(
    "h5py", "3.15.1", "3.16.0", "Cython", calls=200, types="int", needs="numpy", source="h5py#2783"
)
def h5py_registry() -> Call:
    """Each entry of the registry of open objects loses the number that is its key."""
    import h5py

    held = h5py.File("memory.h5", "w", driver="core", backing_store=False)

    def call() -> None:
        name = "rows"
        held.create_dataset(name, data=range(3))
        held[name][...]
        del held[name]

    return call


@pair(
    "msgpack",
    "1.2.0",
    "1.2.1",
    "Cython",
    calls=200,
    types="dict list str",
    source="msgpack 1.2.1 changelog, GHSA-6v7p-g79w-8964",
)
def msgpack_failed_hook() -> Call:
    """What was unpacked before a hook raised is never released."""
    import msgpack

    packed = msgpack.packb([{"name": "x" * 300, "value": 1}])

    def refuse(row: object) -> object:
        raise ValueError("not this one")

    def call() -> None:
        with suppress(ValueError):
            msgpack.unpackb(packed, object_hook=refuse)

    return call


@pair(
    "msgpack",
    "1.1.1",
    "1.2.0",
    "Cython",
    calls=20,
    source="msgpack 1.2.0 changelog, msgpack/msgpack-python#687",
)
def msgpack_second_init() -> Call:
    """An Unpacker that is set up again forgets its first buffer."""
    import msgpack

    def call() -> None:
        unpacker = msgpack.Unpacker(max_buffer_size=10_000)
        unpacker.feed(b"x" * 5000)
        unpacker.__init__(max_buffer_size=10_000)

    return call


@pair(
    "msgpack",
    "1.2.2",
    "1.2.3",
    "Cython",
    calls=1000,
    types="int str",
    source="msgpack 1.2.3 release notes, GHSA-j586-36cw-2gc2",
)
def msgpack_map_key() -> Call:
    """A key that a strict map does not allow is never released."""
    import msgpack

    numbers = count(2**40)

    def call() -> None:
        packed = msgpack.packb({next(numbers): "value"})
        with suppress(ValueError):
            msgpack.unpackb(packed, strict_map_key=True)

    return call
