"""Finds arrays and tensors with equal contents, by a digest of their memory."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from leakguard.capture.heap.classes import namespace
from leakguard.capture.heap.frameworks import Buffer, Frameworks
from leakguard.capture.heap.places import Assignable

_CHUNK = 1 << 20
# The bytes at the beginning that are read of each, before any is read as a whole. Chosen: a page.
_GLANCE = 4_096
_WORD = 8
# The bytes that are read in all. Chosen: some seconds.
_MOST_READ = 4_000_000_000


def equal_places(
    places: Iterable[Assignable], frameworks: Frameworks, least: int
) -> Iterator[list[Assignable]]:
    """Yield the places of equal arrays of at least ``least`` bytes, each with memory of its own.

    Arrays that have one number everywhere are left out, because they are buffers in use more often
    than copies. So are subclasses, such as parameters, which are copied for a reason.
    """
    memory: dict[int, tuple[Assignable, Buffer]] = {}
    for place in places:
        buffer = _whole(place.value, frameworks)
        if buffer is not None and buffer.bytes >= least and buffer.device == "cpu":
            memory.setdefault(buffer.start, (place, buffer))
    try:
        file = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:  # no such file on this system, or it may not be read
        return
    try:
        for equal in _equal(list(memory.values()), file, frameworks):
            yield [place for place, _ in equal]
    finally:
        os.close(file)


def _equal(
    found: list[tuple[Assignable, Buffer]], file: int, frameworks: Frameworks
) -> Iterator[list[tuple[Assignable, Buffer]]]:
    """Yield the groups of equal contents; what differs at its beginning is not read as a whole."""
    left = _MOST_READ
    for alike in _groups(found, lambda p, b: _form(p.value, b, frameworks)):
        for near in _groups(alike, lambda p, b: _read(file, b.start, min(b.bytes, _GLANCE))):
            left -= sum(buffer.bytes for _, buffer in near)
            if left >= 0:
                yield from _groups(near, lambda p, b: _digest(file, b))


def _groups(
    found: Iterable[tuple[Assignable, Buffer]], key: Any
) -> list[list[tuple[Assignable, Buffer]]]:
    """Return the groups of several with an equal key; a key of None is in no group."""
    groups: dict[Hashable, list[tuple[Assignable, Buffer]]] = {}
    for place, buffer in found:
        name = key(place, buffer)
        if name is not None:
            groups.setdefault(name, []).append((place, buffer))
    return [group for group in groups.values() if len(group) > 1]


def _whole(value: Any, frameworks: Frameworks) -> Buffer | None:
    try:
        return frameworks.own_buffer(value)
    except Exception:  # memory that cannot be told
        return None


def _form(value: Any, buffer: Buffer, frameworks: Frameworks) -> Hashable:
    """Return what beside the memory decides whether two are equal; None for parts of a storage."""
    numpy, torch = frameworks.numpy, frameworks.torch
    if numpy is not None and type(value) is numpy.kind:
        strides = numpy.interface(value).get("strides")
        is_plain = not numpy.holds_objects(value)
        return ("array", numpy.shape(value), str(numpy.dtype(value)), strides) if is_plain else None
    if torch is None or torch.node(value) is not None:
        return None
    shape, strides = tuple(torch.shape(value)), tuple(namespace(torch.kind)["stride"](value))
    shown = int(torch.dtype(value).itemsize)
    for length in shape:
        shown *= length
    return ("tensor", shape, str(torch.dtype(value)), strides) if shown == buffer.bytes else None


def _read(file: int, start: int, size: int) -> bytes | None:
    try:
        return os.pread(file, size, start)
    except (OSError, OverflowError):
        return None


def _digest(file: int, buffer: Buffer) -> bytes | None:
    """Return the digest of a memory; None if it cannot be read or repeats one number."""
    digest, constant = blake2b(), True
    first = _read(file, buffer.start, _WORD)
    for offset in range(0, buffer.bytes, _CHUNK):
        size = min(_CHUNK, buffer.bytes - offset)
        chunk = _read(file, buffer.start + offset, size)
        if chunk is None or len(chunk) != size:
            return None
        constant = constant and chunk[:_WORD] == first and chunk[_WORD:] == chunk[:-_WORD]
        digest.update(chunk)
    return None if constant else digest.digest()
